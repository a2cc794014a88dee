// A real browser: a page served inside a sandbox, and one that holds a
// WebSocket.  Names below "localhost" need no resolver.
import test, { before } from 'node:test'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { promisify } from 'node:util'
import { createRequire } from 'node:module'
import path from 'node:path'
import { assert, create, until } from './lib.mjs'

const { WebSocket } = createRequire(path.join(process.env.SDK, 'x.js'))('ws')
const run = promisify(execFile)
let s

// The handshake of RFC 6455, one frame, and then whatever comes.
const socket = `#!/bin/sh
while IFS= read -r l; do
	l=$(printf '%s' "$l" | tr -d '\\r')
	[ -n "$l" ] || break
	case $l in
	[Ss]ec-[Ww]eb[Ss]ocket-[Kk]ey:*) k=\${l#*: } ;;
	esac
done
a=$(printf '%s258EAFA5-E914-47DA-95CA-C5AB0DC85B11' "$k" | sha1sum |
    cut -c 1-40 | xxd -r -p | base64)
printf 'HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\n'
printf 'Connection: Upgrade\\r\\nSec-WebSocket-Accept: %s\\r\\n\\r\\n' "$a"
printf '\\201\\013from inside'
sleep 5
`

// The browser shows what a page has when all of it is loaded: an image that
// takes its time.
const slow = `#!/bin/sh
while IFS= read -r l; do
	[ "$(printf '%s' "$l" | tr -d '\\r')" ] || break
done
sleep 3
printf 'HTTP/1.1 404 Not Found\\r\\nContent-Length: 0\\r\\n\\r\\n'
`

before(async () => {
	s = await create({ timeoutMs: 600_000 })
	await s.files.write('/tmp/ws', socket)
	await s.files.write('/tmp/www/index.html', '<p id=x>no</p><script>' +
	    'document.getElementById("x").textContent = "script " + ' +
	    'location.host.split(".")[0]</script>')
	await s.files.write('/tmp/www/ws.html', '<p id=x>no</p><script>' +
	    'const w = new WebSocket("ws://" + location.host.replace(' +
	    '"8000-", "8001-")); w.onmessage = (e) => { document.' +
	    'getElementById("x").textContent = "heard " + e.data }; document.write("<img ' +
	    'src=http://" + location.host.replace("8000-", "8002-") + ">")' +
	    '</script>')
	await s.files.write('/tmp/slow', slow)
	await s.commands.run('chmod +x /tmp/ws /tmp/slow; httpd -p 127.0.0.1:8000 ' +
	    '-h /tmp/www')
	await s.commands.run('nc -ll -p 8001 -e /tmp/ws', { background: true,
	    timeoutMs: 0 })
	await s.commands.run('nc -ll -p 8002 -e /tmp/slow', { background:
	    true, timeoutMs: 0 })
	await until(async () => {
		const { stdout } = await s.commands.run('netstat -lnt')
		return stdout.includes(':8001 ') && stdout.includes(':8002 ')
	})
})

async function page(where) {
	const dir = mkdtempSync('/tmp/browser-')
	try {
		const { stdout } = await run('chromium', ['--headless',
		    '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
		    `--user-data-dir=${dir}`, '--timeout=8000', '--dump-dom',
		    `http://${s.getHost(8000)}:3000${where}`], {
		    timeout: 120_000 })
		return stdout
	} finally {
		rmSync(dir, { recursive: true, force: true })
	}
}

test('a page with a script', async () => {
	assert.match(await page('/'), new RegExp(`script 8000-${
	    s.sandboxId}`))
})

test('a page that holds a WebSocket', async () => {
	assert.match(await page('/ws.html'), /heard from inside/)
})

test('a WebSocket without a browser', async () => {
	const got = await new Promise((resolve, reject) => {
		const w = new WebSocket('ws://127.0.0.1:3000/', { headers: {
		    'E2b-Sandbox-Id': s.sandboxId, 'E2b-Sandbox-Port': '8001'
		} })
		w.on('message', (d) => resolve(String(d)))
		w.on('error', reject)
	})
	assert.equal(got, 'from inside')
})
