# torch, and torchvision where it can be had, for the build stage of the Dockerfile: from the folder /wheels where it
# holds torch, else from the index of $TORCH_BUILD. torchvision must fit torch's build, so both come from one place.
set -eu
# By name and version, not by file: pip notes the file as a package's origin, and then the SBOM has no address of it.
version_of() { basename "$(find /wheels -name "$1-*.whl" | sort | head -n 1)" | cut -d- -f2; }
if ls /wheels/torch-*.whl >/dev/null 2>&1; then
    # Only the CPU build finds all that it needs in the lock file; a CUDA build gets the rest from the index.
    pip install --find-links=/wheels --only-binary :all: "torch==$(version_of torch)"
    if ls /wheels/torchvision-*.whl >/dev/null 2>&1; then
        pip install --find-links=/wheels --only-binary :all: --no-deps "torchvision==$(version_of torchvision)"
    else
        echo "No torchvision in the wheel folder: the networks resnet18 and mobilenetv2 will not be available." >&2
    fi
elif [ "$TORCH_BUILD" = pypi ]; then
    pip install --only-binary :all: "torch==$TORCH" "torchvision==$TORCHVISION"
elif ! pip install --only-binary :all: --retries 1 --index-url "https://download.pytorch.org/whl/$TORCH_BUILD" \
    "torch==$TORCH" "torchvision==$TORCHVISION"; then
    [ "$TORCH_BUILD" = cpu ] || exit 1
    echo "download.pytorch.org gave no CPU build of torch: taking PyPI's, which is for CUDA and 5 GB larger." >&2
    pip install --only-binary :all: "torch==$TORCH" "torchvision==$TORCHVISION"
fi
