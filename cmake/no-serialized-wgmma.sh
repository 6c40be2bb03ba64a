#!/bin/sh
# Runs a compiler, and fails where ptxas has made wgmma wait for each other (C75xx): it tells so as information, which no
# option makes an error.
told=$("$@" 2>&1)
status=$?
[ -z "$told" ] || printf '%s\n' "$told" >&2
case $told in
  *"(C75"*) exit 1 ;;
esac
exit "$status"
