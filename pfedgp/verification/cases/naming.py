"""A canonical form of an assert's wording, independent of punctuation and spelling, for rules to match."""

import re

__all__ = ["canonical", "head", "parameters"]

_GREEK = {"\u03c9": "w", "\u03b8": "theta", "\u03c3": "sigma", "\u00b5": "mu", "\u03bc": "mu"}
_PARAMETER = re.compile(r"log outputscale|log lengthscale|log noisevar|theta ?\d+")


def canonical(name: str) -> str:
    """Lower case, spaces for underscores, one spelling a symbol: ``w``, ``fstar``, ``log p(y|w)``, ``outputscale``."""
    text = name.lower()
    for letter, word in _GREEK.items():
        text = text.replace(letter, word)
    text = re.sub(r"[{}]", "", text).replace("_", " ")
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r"\bomegas?\b", "w", text)
    text = re.sub(r"\b(f|y|mu|v|x) ?(?:\*|star\b)", r"\1star", text)
    text = re.sub(r"\b(output|length) ?scale\b", r"\1scale", text)
    text = re.sub(r"\bnoise ?var(?:iance)?\b", "noisevar", text)
    text = re.sub(r"\blog ?\(?(outputscale|lengthscale|noisevar)\)?", r"log \1", text)
    text = re.sub(r"\b(e|cov|mean|theta|var) ?[\[(]([^\[\]()]*)[\])]", r"\1 \2", text)
    text = re.sub(r"\blog p ?\(? ?y ?[| ] ?w ?\)?", "log p(y|w)", text)
    return re.sub(r"\blog p y\b(?! ?\|)", "log p(y)", text)


def head(name: str) -> str:
    """The canonical text up to an equals sign with spaces around it: what is meant, without how to compute it."""
    return canonical(name.split(" = ", maxsplit=1)[0])


def parameters(text: str) -> list[str]:
    """The parameters of a gradient in the order in which a canonical text lists them."""
    return [match.replace(" ", "") for match in _PARAMETER.findall(text)]
