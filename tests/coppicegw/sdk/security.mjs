import test, { before } from 'node:test'
import net from 'node:net'
import { api, assert, create, e2b, raw, sleep, Sandbox, throws } from
    './lib.mjs'

const { hostname, port } = new URL(api)
const keys = { admin: process.env.KEY_admin, use: process.env.KEY_use,
    other: process.env.KEY_other, read: process.env.KEY_read }
let s, t

before(async () => {
	s = await create({ timeoutMs: 600_000 })
	t = await create({ timeoutMs: 600_000 })
})

// Bytes as they are; resolves to all that comes back.
function bytes(text, ms = 3000) {
	return new Promise((resolve) => {
		let got = ''
		const c = net.connect(port, hostname, () => c.write(text))
		c.on('data', (d) => void (got += d.toString('latin1')))
		c.on('close', () => resolve(got))
		c.on('error', () => resolve(got))
		setTimeout(() => c.destroy(), ms)
	})
}

const envd = (box, where, init = {}) => fetch(api + where, { ...init,
    headers: { 'E2b-Sandbox-Id': box.sandboxId, ...init.headers } })

test('no key, a wrong key, a malformed key', async () => {
	for (const apiKey of ['e2b_' + '0'.repeat(40), 'x', 'e2b_',
	    keys.use.slice(0, -1) + (keys.use.endsWith('0') ? '1' : '0'),
	    keys.use + '0'])
		await throws(() => Sandbox.list({ apiKey }).nextItems(),
		    e2b.AuthenticationError)
	assert.equal((await fetch(api + '/sandboxes')).status, 401)
})

test('a key by Bearer', async () => {
	const r = await fetch(api + '/sandboxes', { headers: {
	    Authorization: `Bearer ${keys.use}` } })
	assert.equal(r.status, 200)
})

test('health needs no key, metrics an administrator', async () => {
	assert.equal((await fetch(api + '/health')).status, 204)
	assert.equal((await raw('GET', '/metrics')).status, 403)
	assert.equal((await raw('GET', '/metrics', undefined, {
	    'X-API-KEY': keys.admin })).status, 200)
})

test('a key sees only its own', async () => {
	const apiKey = keys.other
	const all = await Sandbox.list({ apiKey }).nextItems()
	assert.ok(!all.some((x) => x.sandboxId === s.sandboxId))
	await throws(() => Sandbox.getInfo(s.sandboxId, { apiKey }),
	    e2b.SandboxNotFoundError)
	assert.equal(await Sandbox.kill(s.sandboxId, { apiKey }), false)
	await throws(() => Sandbox.setTimeout(s.sandboxId, 1000, { apiKey }),
	    e2b.SandboxNotFoundError)
	await throws(() => Sandbox.connect(s.sandboxId, { apiKey }),
	    e2b.SandboxNotFoundError)
	await throws(() => Sandbox.pause(s.sandboxId, { apiKey }),
	    e2b.SandboxNotFoundError)
	await throws(() => Sandbox.createSnapshot(s.sandboxId, { apiKey }),
	    e2b.SandboxNotFoundError)
	await throws(() => Sandbox.getMetrics(s.sandboxId, { apiKey }),
	    e2b.SandboxNotFoundError)
	assert.equal(await s.isRunning(), true)
})

test('an administrator sees all', async () => {
	const i = await Sandbox.getInfo(s.sandboxId, { apiKey: keys.admin })
	assert.equal(i.sandboxId, s.sandboxId)
})

test('a key that may only look', async () => {
	const h = { 'X-API-KEY': keys.read }
	assert.equal((await raw('GET', '/sandboxes', undefined, h)).status,
	    200)
	assert.equal((await raw('POST', '/sandboxes', { templateID: 'tiny' },
	    h)).status, 403)
	assert.equal((await raw('DELETE', `/sandboxes/${s.sandboxId}`,
	    undefined, h)).status, 403)
})

test('templates are deleted by administrators only', async () => {
	assert.equal((await raw('DELETE', '/templates/tiny')).status, 403)
})

test("others' snapshots are not there", async () => {
	const snap = await s.createSnapshot()
	const apiKey = keys.other
	const list = await Sandbox.listSnapshots({ apiKey }).nextItems()
	assert.deepEqual(list, [])
	assert.equal(await Sandbox.deleteSnapshot(snap.snapshotId, {
	    apiKey }), false)
	assert.equal(await Sandbox.deleteSnapshot(snap.snapshotId), true)
})

test('envd wants the token of that sandbox', async () => {
	const get = async (token) => (await envd(s, '/files?path=/etc/passwd',
	    { headers: token === undefined ? {} : { 'X-Access-Token': token }
	    })).status
	assert.equal(await get(undefined), 401)
	assert.equal(await get(''), 401)
	assert.equal(await get('x'), 401)
	assert.equal(await get(t.envdAccessToken), 401)
	assert.equal(await get(keys.use), 401)
	assert.equal(await get(s.envdAccessToken), 200)
	const r = await envd(s, '/process.Process/List', { method: 'POST',
	    body: '{}', headers: { 'Content-Type': 'application/json',
	    'X-Access-Token': t.envdAccessToken } })
	assert.equal(r.status, 401)
})

test('a signature of one sandbox opens no other', async () => {
	await t.files.write('/tmp/s', 'of t')
	await s.files.write('/tmp/s', 'of s')
	const u = await t.downloadUrl('/tmp/s')
	assert.equal(await (await fetch(u)).text(), 'of t')
	const r = await fetch(u, { headers: { 'E2b-Sandbox-Id':
	    s.sandboxId } })
	assert.equal(r.status, 401)
})

test('processes and watchers of another sandbox', async () => {
	const h = await s.commands.run('sleep 30', { background: true })
	const x = new Sandbox({ sandboxId: t.sandboxId, envdAccessToken:
	    t.envdAccessToken, envdVersion: '0.6.4' })
	assert.equal(await x.commands.kill(h.pid).catch(() => false), false)
	await h.kill()
})

test('paths do not leave the sandbox', async () => {
	const own = await s.files.read('/etc/os-release')
	for (const p of ['/../../../../etc/os-release',
	    '../../../../../../etc/os-release',
	    '/tmp/../../../../etc/os-release'])
		assert.equal(await s.files.read(p), own, p)
	const first = await s.files.read('/proc/1/root/etc/os-release')
	    .catch(() => own)
	assert.equal(first, own)
	await s.commands.run('ln -s / /tmp/root')
	assert.equal(await s.files.read('/tmp/root/etc/os-release'), own)
	const r = await envd(s, '/files?path=/etc/passwd%00.txt', {
	    headers: { 'X-Access-Token': s.envdAccessToken } })
	assert.equal(r.status, 400)
})

test('paths of the API do not wander', async () => {
	for (const p of [`/sandboxes/..%2f..%2f${s.sandboxId}`,
	    `/sandboxes/${s.sandboxId}%2f..`, '/sandboxes/%2e%2e',
	    '/sandboxes/../metrics/x', '//sandboxes'])
		assert.ok([400, 403, 404, 405].includes((await raw('GET', p))
		    .status), p)
})

test('two opinions on the length of a body', async () => {
	const head = 'POST /sandboxes HTTP/1.1\r\nHost: x\r\n'
	for (const f of ['Content-Length: 4\r\nTransfer-Encoding: chunked',
	    'Transfer-Encoding: chunked\r\nContent-Length: 4',
	    'Content-Length: 4\r\nContent-Length: 5',
	    'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked',
	    'Transfer-Encoding: xchunked', 'Transfer-Encoding : chunked',
	    'Content-Length: 4 4', 'Content-Length: +4',
	    'X: y\nContent-Length: 4']) {
		const got = await bytes(`${head}${f}\r\n\r\n0\r\n\r\n` +
		    'GET /health HTTP/1.1\r\nHost: x\r\n\r\n')
		assert.match(got, /^HTTP\/1\.1 (400|501) /, f)
		assert.equal(got.split('HTTP/1.1 ').length, 2, f)
	}
})

test('malformed chunks', async () => {
	for (const b of ['5\r\nhelloX\r\n0\r\n\r\n', 'z\r\n', '-1\r\n',
	    'ffffffffffffffffff\r\n', '5\nhello\n0\n\n']) {
		const got = await bytes('POST /sandboxes HTTP/1.1\r\nHost: x' +
		    `\r\nX-API-KEY: ${keys.use}\r\nTransfer-Encoding: chunked` +
		    `\r\n\r\n${b}`)
		assert.match(got, /^HTTP\/1\.1 400 /, b)
	}
})

test('requests in one piece are answered in order', async () => {
	const one = 'GET /health HTTP/1.1\r\nHost: x\r\n\r\n'
	const got = await bytes(one.repeat(20) + one.replace('\r\n\r\n',
	    '\r\nConnection: close\r\n\r\n'))
	assert.equal(got.split('HTTP/1.1 204').length, 22)
})

test('a request byte by byte', async () => {
	const got = await new Promise((resolve) => {
		let text = ''
		const c = net.connect(port, hostname, async () => {
			for (const b of 'GET /health HTTP/1.1\r\nHost: x\r\n' +
			    'Connection: close\r\n\r\n') {
				c.write(b)
				await sleep(2)
			}
		})
		c.setNoDelay(true)
		c.on('data', (d) => void (text += d))
		c.on('close', () => resolve(text))
	})
	assert.match(got, /^HTTP\/1\.1 204/)
})

test('oversized everything', async () => {
	const head = 'GET /health HTTP/1.1\r\nHost: x\r\n'
	assert.match(await bytes(`${head}X: ${'y'.repeat(40_000)}\r\n\r\n`),
	    /^HTTP\/1\.1 431/)
	assert.match(await bytes(head + Array.from({ length: 150 }, (_, i) =>
	    `h${i}: v\r\n`).join('') + '\r\n'), /^HTTP\/1\.1 431/)
	assert.match(await bytes(`GET /${'a'.repeat(40_000)} HTTP/1.1\r\n` +
	    'Host: x\r\n\r\n'), /^HTTP\/1\.1 431/)
	assert.match(await bytes('x'.repeat(100_000)), /^HTTP\/1\.1 431/)
	assert.equal((await raw('POST', '/sandboxes', { templateID: 'tiny',
	    metadata: { a: 'x'.repeat(2_000_000) } })).status, 413)
	assert.equal((await raw('POST', '/sandboxes', { templateID:
	    't'.repeat(100) })).status, 400)
	const deep = '['.repeat(100_000)
	assert.equal((await raw('POST', '/sandboxes', deep, {
	    'Content-Type': 'application/json' })).status, 400)
	const big = Buffer.alloc(5)
	big.writeUInt32BE(0x7fffffff, 1)
	const r = await envd(s, '/process.Process/Start', { method: 'POST',
	    body: big, headers: { 'Content-Type':
	    'application/connect+json', 'X-Access-Token': s.envdAccessToken }
	})
	assert.match(await r.text(), /invalid_argument/)
})

test('malformed RPCs', async () => {
	const call = async (m, body, type) => {
		const r = await envd(s, `/process.Process/${m}`, { method:
		    'POST', body, headers: { 'Content-Type': type,
		    'X-Access-Token': s.envdAccessToken } })
		return [r.status, await r.text()]
	}
	const json = 'application/json', proto = 'application/proto'
	assert.equal((await call('None', '{}', json))[0], 404)
	assert.equal((await call('List', '{', json))[0], 400)
	assert.equal((await call('List', '[]', json))[0], 400)
	assert.equal((await call('List', '{}', 'text/plain'))[0], 415)
	assert.equal((await call('List', '{}', 'application/connect+json'))[0],
	    415)
	assert.equal((await call('Start', '{}', json))[0], 415)
	assert.equal((await call('SendInput', '\xff\xff\xff', proto))[0], 400)
	assert.equal((await call('SendInput', JSON.stringify({ process: {
	    pid: 'x' } }), json))[0], 400)
	assert.equal((await call('SendSignal', JSON.stringify({ process: {
	    pid: 1 }, signal: 'SIGNAL_SIGHUP' }), json))[0], 400)
	assert.equal((await call('List', '', json))[0], 200)
})

test('protocol buffers', async () => {
	const r = await envd(s, '/process.Process/List', { method: 'POST',
	    body: Buffer.alloc(0), headers: { 'Content-Type':
	    'application/proto', 'X-Access-Token': s.envdAccessToken } })
	assert.equal(r.status, 200)
	assert.equal(r.headers.get('content-type'), 'application/proto')
	const msg = Buffer.from('\x0a\x15\x0a\x07/bin/sh\x12\x02-c\x12\x06' +
	    'echo k\x20\x00', 'latin1')
	const head = Buffer.from([0, 0, 0, 0, msg.length])
	const q = await envd(s, '/process.Process/Start', { method: 'POST',
	    body: Buffer.concat([head, msg]), headers: { 'Content-Type':
	    'application/connect+proto', 'X-Access-Token':
	    s.envdAccessToken } })
	const got = Buffer.from(await q.arrayBuffer()).toString('latin1')
	assert.match(got, /k\n/)
	assert.match(got, /\{\}$/)
})

test('CONNECT is not served', async () => {
	assert.match(await bytes('CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n',
	    500), /^HTTP\/1\.1 40[05]/)
})

test('a slow head is hung up on', async () => {
	const began = Date.now()
	const got = await bytes('GET / HTTP/1.1\r\nHost:', 20_000)
	assert.equal(got, '')
	assert.ok(Date.now() - began < 10_000)
})

test('an idle connection is hung up on', async () => {
	const began = Date.now()
	await bytes('', 20_000)
	assert.ok(Date.now() - began < 10_000)
})

test('more requests than allowed', async () => {
	const all = await Promise.all(Array.from({ length: 300 }, () =>
	    raw('GET', '/templates', undefined, { 'X-API-KEY':
	    keys.other })))
	const limited = all.filter((r) => r.status === 429)
	assert.ok(limited.length > 0)
	assert.equal(limited[0].headers.get('retry-after'), '1')
	await sleep(1500)
	assert.equal((await raw('GET', '/templates', undefined, {
	    'X-API-KEY': keys.other })).status, 200)
})

test('more sandboxes than allowed', async () => {
	await sleep(2500)
	const made = []
	const err = await (async () => {
		for (let i = 0; i < 10; i++)
			made.push(await Sandbox.create({ apiKey: keys.other,
			    retries: 0 }))
	})().catch((e) => e)
	assert.ok(err instanceof e2b.RateLimitError, String(err))
	assert.equal(made.length, 5)
	for (const m of made)
		await Sandbox.kill(m.sandboxId, { apiKey: keys.other })
})
