#!/bin/sh
# Installs the servers that the tests start for themselves, where they are missing: Redis, PostgreSQL, MariaDB and PgBouncer.
# Only the programs are needed. No service is started by this, and none that runs is touched; tests use ports and
# folders of their own. Where nothing can be installed the tests that need a server are skipped (under CI they fail).
set -eu

there() { # one of these programs, in PATH or where systems put servers
	for program in "$@"; do
		for place in $(echo "$PATH" | tr ':' ' ') /usr/sbin /usr/local/sbin /usr/lib/postgresql/*/bin \
			/opt/homebrew/opt/*/bin /usr/local/opt/*/bin; do
			[ -x "$place/$program" ] && return 0
		done
	done
	return 1
}

missing=""
there redis-server valkey-server || missing="$missing redis"
there postgres || missing="$missing postgresql"
there mariadbd mysqld || missing="$missing mariadb"
there pgbouncer || missing="$missing pgbouncer"
[ -n "$missing" ] || exit 0

if command -v apt-get >/dev/null 2>&1; then
	as_root=""
	if [ "$(id -u)" != 0 ]; then
		if ! sudo -n true 2>/dev/null; then
			echo "missing for the tests:$missing; install them (apt-get install redis-server postgresql mariadb-server pgbouncer)" >&2
			exit 0
		fi
		as_root="sudo -n"
	fi
	packages=$(echo "$missing" | sed 's/redis/redis-server/; s/mariadb/mariadb-server/')
	echo "installing for the tests:$missing"
	# RUNLEVEL=1: packages take the machine for one in maintenance, and start no service.
	$as_root apt-get update -qq
	$as_root env RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive \
		apt-get install -qq -y --no-install-recommends $packages >/dev/null
elif command -v brew >/dev/null 2>&1; then
	echo "installing for the tests:$missing"
	# shellcheck disable=SC2086
	brew install --quiet $(echo "$missing" | sed 's/postgresql/postgresql@17/')
else
	echo "missing for the tests:$missing; install them with this system's packages" >&2
fi
