#!/usr/bin/env bash
# The step of action.yml. The command is built from the action's own code, so it has its version.
set -euo pipefail
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
(cd "$GITHUB_ACTION_PATH" && GOTOOLCHAIN=auto GOWORK=off GOFLAGS= go build -o "$bin/profguard" ./cmd/profguard)

base=${BASE:-${GITHUB_BASE_REF:+origin/$GITHUB_BASE_REF}}
if [ -z "$base" ]; then
  echo "::error title=profguard compare::This is no pull request: expected the input base, such as origin/main"
  exit 2
fi
args=()
while IFS= read -r line; do if [ -n "$line" ]; then args+=("$line"); fi; done <<<"$ARGS"
read -r -d "" -a packages <<<"$PACKAGES" || true # of all lines

cd "$FOLDER"
status=0
"$bin/profguard" compare -base "$base" -o github -o "markdown=$GITHUB_STEP_SUMMARY" ${args[@]+"${args[@]}"} ${packages[@]+"${packages[@]}"} || status=$?
echo "status=$status" >>"$GITHUB_OUTPUT"
if [ "$status" = 3 ]; then exit 0; fi # undecided is no failure, and has its warning
exit "$status"
