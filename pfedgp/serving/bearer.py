"""The check of the token of a request: as a header, and nowhere else."""

import hmac
from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, HTTPException
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

__all__ = ["bearer_check"]

_bearer = HTTPBearer(auto_error=False, description="the token of the command that answers here")


def bearer_check(token: str, whose: str) -> Callable[[HTTPAuthorizationCredentials | None], None]:
    """A dependency that refuses a request without the token, in a time that says nothing of it.

    Parameters
    ----------
    token : str
    whose : str
        Names the token in the refusal.
    """

    def authorised(given: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]) -> None:
        if given is None or not hmac.compare_digest(given.credentials.encode(), token.encode()):
            raise HTTPException(
                401, f"Send {whose} token as 'Authorization: Bearer TOKEN'.", {"WWW-Authenticate": "Bearer"}
            )

    return authorised
