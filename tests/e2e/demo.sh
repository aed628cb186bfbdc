#!/usr/bin/env bash
# The demonstration, as a person would run it: real clients and servers, filtered by the command that is under test.
set -euo pipefail
exec "$(dirname "${BASH_SOURCE[0]}")/../../scripts/demo"
