#!/bin/sh
# pfedgp's verbs for the server of this compose project: `runner VERB ...`. The connection is filled in where a verb has one.
set -eu
case ${1:-} in
run | resume | status | stop | dashboard)
    exec pfedgp "$@" --state /state --control control:8000 --ca /certs/ca.crt
    ;;
report)
    cd /state/runs  # a run by its name; what --out names is beside it
    exec pfedgp "$@"
    ;;
doctor)
    # It looks at processes, ports and certificates, and this container has none of the server's.
    compose=${PFEDGP_CALLED_AS:-docker compose run --rm runner}
    echo "pfedgp: The doctor works inside the server's own container: ${compose% run *} exec superlink pfedgp doctor --state /state" >&2
    exit 2
    ;;
*)
    exec pfedgp "$@"
    ;;
esac
