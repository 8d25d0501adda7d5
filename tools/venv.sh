#!/bin/sh
# Make the virtual environment $1 with the first Python >= 3.11 that works: $PYTHON if it is set, else what the PATH has.
set -eu
target=$1

good() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

python=
for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
    if good "$candidate"; then python=$candidate && break; fi
done
if [ -z "$python" ]; then
    echo "AX needs Python 3.11 or newer and found none (tried: ${PYTHON:-python3, python3.14 .. python3.11})." >&2
    echo "Install one, or name it: make PYTHON=/path/to/python3.12 ..." >&2
    exit 1
fi

# Debian and Ubuntu ship `venv` without `ensurepip` unless the package python3-venv is installed.
if ! "$python" -c 'import ensurepip' >/dev/null 2>&1; then
    package=$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        echo "$python has no ensurepip; installing $package"
        apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$package"
    else
        echo "$python cannot make virtual environments here. On Debian or Ubuntu: sudo apt-get install $package" >&2
        exit 1
    fi
fi

rm -rf "$target"
"$python" -m venv "$target"
"$target/bin/python" -c 'import sys; print("made %s with Python %s" % (sys.prefix, sys.version.split()[0]))'
