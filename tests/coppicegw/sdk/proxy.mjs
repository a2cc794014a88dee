import test, { before } from 'node:test'
import http from 'node:http'
import { api, assert, create, e2b, sleep, Sandbox, throws, until } from
    './lib.mjs'

const { hostname, port } = new URL(api)
let s

// A server in the sandbox, of the programs that it has: each connection is
// one run of the script, its stdin and stdout the socket.
async function serve(at, script) {
	const name = `/tmp/serve${at}`
	await s.files.write(name, `#!/bin/sh\n${script}\n`)
	await s.commands.run(`chmod +x ${name}`)
	await s.commands.run(`nc -ll -p ${at} -e ${name}`,
	    { background: true, timeoutMs: 0 })
	await until(async () => (await s.commands.run('netstat -lnt')).stdout
	    .includes(`:${at} `))
}

const headers = (at, more) => ({ 'E2b-Sandbox-Id': s.sandboxId,
    'E2b-Sandbox-Port': String(at), ...more })

// One request; resolves to status, fields and text.
function ask(at, opts = {}, agent) {
	return new Promise((resolve, reject) => {
		const r = http.request({ hostname, port, agent,
		    path: opts.path ?? '/', method: opts.method ?? 'GET',
		    headers: headers(at, opts.headers) }, (res) => {
			let text = ''
			res.setEncoding('latin1')
			res.on('data', (d) => {
				text += d
				opts.onData?.(d)
			})
			res.on('end', () => resolve({ status: res.statusCode,
			    fields: res.headers, text }))
			res.on('error', reject)
		})
		r.on('error', reject)
		r.on('continue', () => opts.onContinue?.(r))
		if (opts.body !== undefined && !opts.onContinue)
			r.end(opts.body)
		else if (!opts.onContinue)
			r.end()
		else
			r.flushHeaders()
	})
}

// Reads a head, and what Content-Length says of the body.
const reader = `
n=0
while IFS= read -r line; do
	line=$(printf '%s' "$line" | tr -d '\\r')
	[ -n "$line" ] || break
	echo "$line" >> /tmp/head
	case $line in
	[Cc]ontent-[Ll]ength:*) n=\${line#*: } ;;
	esac
done`

before(async () => {
	s = await create({ timeoutMs: 600_000 })
	await s.commands.run('mkdir -p /tmp/www/sub; ' +
	    'echo "<h1>hi</h1>" > /tmp/www/index.html; ' +
	    'head -c 3000000 /dev/zero > /tmp/www/big; ' +
	    'httpd -p 127.0.0.1:8000 -h /tmp/www', { user: 'root' })
	await serve(8001, `${reader}
printf 'HTTP/1.1 200 OK\\r\\nContent-Length: 3\\r\\n\\r\\nraw'`)
	await serve(8002, `${reader}
body=$(head -c "$n")
printf 'HTTP/1.1 201 Made\\r\\nX-Got: %s\\r\\nContent-Length: %s\\r\\n\\r\\n%s' \\
    "$n" "$n" "$body"`)
	await serve(8003, `${reader}
printf 'HTTP/1.1 200 OK\\r\\nContent-Type: text/event-stream\\r\\n\\r\\n'
for i in 1 2 3; do printf 'data: %s\\n\\n' $i; sleep 0.4; done`)
	await serve(8004, `${reader}
printf 'HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n'
printf '5\\r\\nhello\\r\\n6\\r\\n world\\r\\n0\\r\\n\\r\\n'`)
	await serve(8005, `${reader}
printf 'HTTP/1.1 200 OK\\r\\nContent-Length: 100\\r\\n\\r\\nshort'`)
	await serve(8006, `${reader}
printf 'HTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\nContent-Length: 6\\r\\n\\r\\nhello!'`)
	await serve(8007, `${reader}
printf 'HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: echo\\r\\n\\r\\n'
exec cat`)
})

test('a page of a web server', async () => {
	const r = await ask(8000)
	assert.equal(r.status, 200)
	assert.equal(r.text, '<h1>hi</h1>\n')
})

test('what the server does not have', async () => {
	assert.equal((await ask(8000, { path: '/none' })).status, 404)
})

test('a port that nobody listens on', async () => {
	const r = await ask(9999)
	assert.equal(r.status, 502)
	assert.equal(JSON.parse(r.text).port, 9999)
})

test('a sandbox that is not there', async () => {
	const r = await fetch(api, { headers: { 'E2b-Sandbox-Id':
	    'f'.repeat(32), 'E2b-Sandbox-Port': '80' } })
	assert.equal(r.status, 502)
	for (const p of ['0', '65536', 'x', '-1', '80 ']) {
		const q = await fetch(api, { headers: headers(p) })
		assert.ok(q.status === 502, `${p}: ${q.status}`)
	}
})

test('requests one by one on a connection that stays', async () => {
	const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
	for (let i = 0; i < 5; i++) {
		assert.equal((await ask(8000, {}, agent)).status, 200)
		assert.equal((await ask(8001, {}, agent)).text, 'raw')
	}
	agent.destroy()
})

test('many requests at once', async () => {
	for (let i = 0; i < 5; i++) {
		const all = await Promise.all(Array.from({ length: 20 }, () =>
		    ask(8000)))
		assert.deepEqual(all.map((r) => r.status), Array(20).fill(200))
	}
})

test('fields for us and between neighbours are not passed on', async () => {
	await s.commands.run('rm -f /tmp/head')
	await ask(8001, { headers: { 'X-Mine': 'yes', 'Keep-Alive': '5',
	    'X-Forwarded-For': '6.6.6.6', TE: 'trailers' } })
	const head = (await s.files.read('/tmp/head')).toLowerCase()
	assert.match(head, /x-mine: yes/)
	assert.match(head, /x-forwarded-for: 127\.0\.0\.1/)
	assert.match(head, /connection: close/)
	for (const f of ['e2b-', 'keep-alive:', '6.6.6.6', 'te:'])
		assert.ok(!head.includes(`\n${f}`) && !head.includes(
		    '6.6.6.6'), f)
})

test('bodies go up', async () => {
	const r = await ask(8002, { method: 'POST', body: 'x'.repeat(1000) })
	assert.equal(r.status, 201)
	assert.equal(r.fields['x-got'], '1000')
	assert.equal(r.text.length, 1000)
})

test('chunks go up', async () => {
	await s.commands.run('rm -f /tmp/head')
	const r = await new Promise((resolve, reject) => {
		const q = http.request({ hostname, port, method: 'POST',
		    headers: headers(8001, { 'Transfer-Encoding':
		    'chunked' }) }, (res) => {
			res.resume()
			res.on('end', () => resolve(res.statusCode))
		})
		q.on('error', reject)
		q.write('abc')
		q.end('def')
	})
	assert.equal(r, 200)
	assert.match((await s.files.read('/tmp/head')).toLowerCase(),
	    /transfer-encoding: chunked/)
})

test('100-continue', async () => {
	let asked = false
	const r = await ask(8002, { method: 'POST', headers: {
	    Expect: '100-continue', 'Content-Length': '4' },
	    onContinue: (q) => {
		asked = true
		q.end('body')
	    } })
	assert.ok(asked)
	assert.equal(r.text, 'body')
})

test('events come as they are sent', async () => {
	const at = []
	const t = Date.now()
	const r = await ask(8003, { onData: () => void at.push(Date.now() -
	    t) })
	assert.equal(r.text, 'data: 1\n\ndata: 2\n\ndata: 3\n\n')
	assert.ok(at.length >= 3 && at[2] - at[0] > 500, String(at))
})

test('chunks come down', async () => {
	assert.equal((await ask(8004)).text, 'hello world')
})

test('a big page', async () => {
	assert.equal((await ask(8000, { path: '/big' })).text.length,
	    3_000_000)
})

test('HEAD has no body', async () => {
	const r = await ask(8000, { method: 'HEAD' })
	assert.equal(r.status, 200)
	assert.equal(r.text, '')
})

test('a server that breaks off is told of', async () => {
	await throws(() => ask(8005), Error)
})

test('a server that says two lengths is not believed', async () => {
	assert.equal((await ask(8006)).status, 502)
})

test('an upgrade becomes a stream of bytes', async () => {
	const got = await new Promise((resolve, reject) => {
		const q = http.request({ hostname, port, headers:
		    headers(8007, { Connection: 'Upgrade',
		    Upgrade: 'echo' }) })
		q.on('upgrade', (res, socket) => {
			let text = ''
			socket.on('data', (d) => {
				text += d
				if (text.length >= 200_000)
					socket.destroy()
			})
			socket.on('close', () => resolve(text.length))
			socket.write('y'.repeat(200_000))
		})
		q.on('error', reject)
		q.on('response', (r) => reject(new Error(r.statusCode)))
		q.end()
	})
	assert.equal(got, 200_000)
})

test('getHost names the sandbox and the port', async () => {
	assert.equal(s.getHost(8000), `8000-${s.sandboxId}.` +
	    `${s.sandboxDomain}`)
	const r = await new Promise((resolve, reject) => {
		http.get({ hostname, port, headers: { Host: s.getHost(8000)
		} }, (res) => {
			res.resume()
			res.on('end', () => resolve(res.statusCode))
		}).on('error', reject)
	})
	assert.equal(r, 200)
})

test('a paused sandbox is woken up by traffic', async () => {
	await s.pause()
	assert.equal((await ask(8000)).status, 200)
	assert.equal((await s.getInfo()).state, 'running')
})

test('a private sandbox wants its token', async () => {
	const p = await create({ network: { allowPublicTraffic: false } })
	assert.ok(p.trafficAccessToken)
	await p.commands.run('mkdir /tmp/w; echo x > /tmp/w/index.html; ' +
	    'httpd -p 8000 -h /tmp/w')
	const get = async (more) => (await fetch(api, { headers: {
	    'E2b-Sandbox-Id': p.sandboxId, 'E2b-Sandbox-Port': '8000',
	    ...more } })).status
	assert.equal(await get({}), 403)
	assert.equal(await get({ 'e2b-traffic-access-token': 'x' }), 403)
	assert.equal(await get({ 'e2b-traffic-access-token':
	    p.trafficAccessToken }), 200)
})

test('the host that servers see can be another', async () => {
	const p = await create({ network: { maskRequestHost: 'inner:1' } })
	await p.files.write('/tmp/h', '#!/bin/sh\nwhile read -r l; do ' +
	    'l=$(echo "$l" | tr -d "\\r"); [ -n "$l" ] || break; ' +
	    'case $l in [Hh]ost*) h=$l ;; esac; done\n' +
	    'printf "HTTP/1.0 200 OK\\r\\n\\r\\n%s" "$h"\n')
	await p.commands.run('chmod +x /tmp/h')
	await p.commands.run('nc -ll -p 80 -e /tmp/h', { background: true })
	await until(async () => (await fetch(api, { headers: {
	    'E2b-Sandbox-Id': p.sandboxId, 'E2b-Sandbox-Port': '80' } }))
	    .status === 200)
	const r = await fetch(api, { headers: { 'E2b-Sandbox-Id': p.sandboxId,
	    'E2b-Sandbox-Port': '80' } })
	assert.equal((await r.text()).toLowerCase(), 'host: inner:1')
})

test('CORS of the API and envd', async () => {
	const r = await fetch(api + '/sandboxes', { method: 'OPTIONS',
	    headers: { Origin: 'http://page', 'Access-Control-Request-Headers':
	    'x-api-key' } })
	assert.equal(r.status, 204)
	assert.equal(r.headers.get('access-control-allow-origin'), '*')
	assert.equal(r.headers.get('access-control-allow-headers'),
	    'x-api-key')
	const h = await fetch(api + '/health')
	assert.equal(h.headers.get('access-control-allow-origin'), '*')
})
