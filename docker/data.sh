#!/bin/sh
# The second step of docker-compose.yml: each client's own volume gets its part of scikit-learn's handwritten digits.
# They are the first three of five parts, so that the three clients hold different classes; the same federation as in
#   pfedgp simulate --clients 5 --classes-per-client 4 --set unseen-clients=2 --clients-per-round 3 --seed S
set -eu
for number in 1 2 3; do
    folder=/volumes/client-$number/digits
    if [ -d "$folder" ]; then
        echo "client-$number has its data already."
    else
        pfedgp export-client --dataset digits --clients 5 --classes-per-client 4 --seed "${SEED:-0}" \
            --client "client-0$((number - 1))" --out "$folder"
    fi
done
