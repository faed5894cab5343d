#!/usr/bin/env bash
# The programs outside Python that tests use. As root on Debian this installs the missing ones, and fails where one is
# missing afterwards; elsewhere the tests that need one are skipped, and .ci/run names them at its end.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive

export RUNLEVEL=1 # nothing that is installed is started
export PATH="$PATH:/usr/sbin"
declare -A PACKAGE=(
    [chromium]=chromium [chromedriver]=chromium-driver [ip]=iproute2 [ss]=iproute2 [nginx]=libnginx-mod-stream
)

missing() {
    for program in "${!PACKAGE[@]}"; do
        command -v "$program" >/dev/null || echo "$program"
    done | sort
}

mapfile -t programs < <(missing)
if [ "${#programs[@]}" = 0 ]; then exit; fi
if [ "$(id -u)" != 0 ] || ! grep -qs '^ID=debian$' /etc/os-release; then
    echo "programs: missing are ${programs[*]}; only root on Debian installs them"
    exit
fi
mapfile -t packages < <(for program in "${programs[@]}"; do echo "${PACKAGE[$program]}"; done | sort -u)
echo "programs: installing ${packages[*]}"
log=$(mktemp)
if ! { apt-get -q update && apt-get -q install -y --no-install-recommends "${packages[@]}"; } >"$log" 2>&1 </dev/null; then
    tail -20 "$log" >&2
fi
rm -f "$log"
hash -r
mapfile -t programs < <(missing)
if [ "${#programs[@]}" != 0 ]; then
    echo "programs: still missing after the installation: ${programs[*]}" >&2
    exit 1
fi
