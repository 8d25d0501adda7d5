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
extra=""
there pgbouncer || extra="pgbouncer" # the tests can do without
[ -n "$missing$extra" ] || exit 0

if command -v apt-get >/dev/null 2>&1; then
	as_root=""
	if [ "$(id -u)" != 0 ]; then
		if ! sudo -n true 2>/dev/null; then
			echo "missing for the tests:$missing $extra; install them (apt-get install redis-server postgresql mariadb-server pgbouncer)" >&2
			exit 0
		fi
		as_root="sudo -n"
	fi
	packages=$(echo "$missing" | sed 's/redis/redis-server/; s/mariadb/mariadb-server/')
	echo "installing for the tests:$missing $extra"
	install() {
		# RUNLEVEL=1: packages take the machine for one in maintenance, and start no service.
		$as_root env RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive \
			apt-get install -qq -y --no-install-recommends "$@" >/dev/null
	}
	$as_root apt-get update -qq || [ -z "$missing" ]
	# shellcheck disable=SC2086
	[ -z "$packages" ] || install $packages
	[ -z "$extra" ] || install $extra || echo "without $extra its tests are skipped" >&2
elif command -v brew >/dev/null 2>&1; then
	echo "installing for the tests:$missing $extra"
	# shellcheck disable=SC2086
	[ -z "$missing" ] || brew install --quiet $(echo "$missing" | sed 's/postgresql/postgresql@17/')
	[ -z "$extra" ] || brew install --quiet $extra || echo "without $extra its tests are skipped" >&2
else
	echo "missing for the tests:$missing $extra; install them with this system's packages" >&2
fi
