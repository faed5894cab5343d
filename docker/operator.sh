#!/bin/sh
# pfedgp's verbs for the server of this compose project: run, resume, status, stop; the connection is filled in.
exec pfedgp "$@" --state /state --control control:8000 --ca /certs/ca.crt
