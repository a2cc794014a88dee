import test, { before } from 'node:test'
import { createHash, randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { gunzipSync, gzipSync } from 'node:zlib'
import { api, assert, create, e2b, sleep, Sandbox, throws, until } from
    './lib.mjs'

let s

before(async () => {
	s = await create({ timeoutMs: 600_000 })
})

// envd without the SDK.
const envd = (where, init = {}, box = s) => fetch(api + where, { ...init,
    headers: { 'E2b-Sandbox-Id': box.sandboxId,
	'X-Access-Token': box.envdAccessToken, ...init.headers } })

test('write and read text', async () => {
	const i = await s.files.write('/tmp/a.txt', 'hello')
	assert.deepEqual([i.name, i.type, i.path], ['a.txt', 'file',
	    '/tmp/a.txt'])
	assert.equal(await s.files.read('/tmp/a.txt'), 'hello')
})

test('relative paths are below home', async () => {
	const i = await s.files.write('rel/x.txt', '1')
	assert.equal(i.path, '/root/rel/x.txt')
	const j = await s.files.write('y.txt', '2', { user: 'user' })
	assert.equal(j.path, '/home/user/y.txt')
	assert.equal((await s.files.getInfo('/home/user/y.txt')).owner, 'user')
	assert.equal(await s.files.read('y.txt', { user: 'user' }), '2')
})

test('an empty file', async () => {
	await s.files.write('/tmp/empty', '')
	assert.equal(await s.files.read('/tmp/empty'), '')
	assert.equal((await s.files.read('/tmp/empty', { format: 'bytes' }))
	    .length, 0)
	assert.equal((await s.files.getInfo('/tmp/empty')).size, 0)
})

test('overwriting makes it shorter', async () => {
	await s.files.write('/tmp/o', 'a long text')
	await s.files.write('/tmp/o', 'short')
	assert.equal(await s.files.read('/tmp/o'), 'short')
})

test('parents are made', async () => {
	await s.files.write('/tmp/p/q/r/s.txt', 'deep')
	assert.equal(await s.files.read('/tmp/p/q/r/s.txt'), 'deep')
})

test('unicode in names and content', async () => {
	const name = '/tmp/日本 "q" ü%20+&.txt'
	const i = await s.files.write(name, '✓ é \u{1f600}')
	assert.equal(i.path, name)
	assert.equal(await s.files.read(name), '✓ é \u{1f600}')
	assert.equal(await s.files.exists(name), true)
})

test('binary in all forms', async () => {
	const data = randomBytes(300_000)
	await s.files.write('/tmp/bin', data.buffer.slice(data.byteOffset,
	    data.byteOffset + data.length))
	const b = await s.files.read('/tmp/bin', { format: 'bytes' })
	assert.ok(Buffer.from(b).equals(data))
	const blob = await s.files.read('/tmp/bin', { format: 'blob' })
	assert.ok(Buffer.from(await blob.arrayBuffer()).equals(data))
	const parts = []
	for await (const p of await s.files.read('/tmp/bin', {
	    format: 'stream' }))
		parts.push(p)
	assert.ok(Buffer.concat(parts).equals(data))
})

test('write a Blob and a stream', async () => {
	await s.files.write('/tmp/blob', new Blob(['a', 'b']))
	assert.equal(await s.files.read('/tmp/blob'), 'ab')
	const stream = new ReadableStream({ start(c) {
		for (let i = 0; i < 50; i++)
			c.enqueue(new Uint8Array(10_000).fill(i))
		c.close()
	} })
	await s.files.write('/tmp/stream', stream)
	assert.equal((await s.files.getInfo('/tmp/stream')).size, 500_000)
})

test('octet streams', async () => {
	await s.files.write('/tmp/oct', 'octets', { useOctetStream: true })
	assert.equal(await s.files.read('/tmp/oct'), 'octets')
})

test('gzip both ways', async () => {
	const text = 'many words '.repeat(50_000)
	await s.files.write('/tmp/gz', text, { gzip: true })
	assert.equal((await s.files.getInfo('/tmp/gz')).size, text.length)
	assert.equal(await s.files.read('/tmp/gz', { gzip: true }), text)
	const r = await envd('/files?path=/tmp/gz', { headers: {
	    'Accept-Encoding': 'gzip' } })
	assert.equal(r.headers.get('content-encoding'), 'gzip')
})

test('malformed gzip is refused', async () => {
	for (const body of [Buffer.from('not gzip'), gzipSync('x').subarray(0,
	    10), Buffer.concat([gzipSync('x'), Buffer.from('y')])]) {
		const r = await envd('/files?path=/tmp/badgz', { method:
		    'POST', body, headers: { 'Content-Encoding': 'gzip',
		    'Content-Type': 'application/octet-stream' } })
		assert.equal(r.status, 400)
	}
})

test('many files in one form', async () => {
	const files = Array.from({ length: 30 }, (_, i) => ({
		path: `/tmp/many/f${i}`, data: 'x'.repeat(i * 1000) }))
	const infos = await s.files.writeFiles(files)
	assert.equal(infos.length, 30)
	assert.deepEqual(infos.map((i) => i.path), files.map((f) => f.path))
	const l = await s.files.list('/tmp/many')
	assert.deepEqual(l.map((e) => e.size).sort((a, b) => a - b),
	    files.map((f) => f.data.length))
	assert.deepEqual(await s.files.writeFiles([]), [])
})

test('content that looks like a boundary', async () => {
	const data = '\r\n--------x\r\n--' + '\r\n'.repeat(2000) + '--'
	await s.files.write('/tmp/tricky', data)
	assert.equal(await s.files.read('/tmp/tricky'), data)
})

test('metadata is refused in words', async () => {
	await throws(() => s.files.write('/tmp/meta', 'x', { metadata: {
	    a: 'b' } }), e2b.InvalidArgumentError, /metadata/)
})

test('reading what is not there', async () => {
	await throws(() => s.files.read('/tmp/none'), e2b.FileNotFoundError)
	await throws(() => s.files.read('/tmp'), e2b.InvalidArgumentError)
	await throws(() => s.files.read('/etc/passwd/x'), e2b.SandboxError)
})

test('writing where that can not be', async () => {
	await throws(() => s.files.write('/tmp', 'x'), e2b.SandboxError)
	await throws(() => s.files.write('/root/x', 'x', { user: 'user' }),
	    e2b.SandboxError)
})

test('ranges', async () => {
	await s.files.write('/tmp/range', '0123456789')
	const get = async (Range) => {
		const r = await envd('/files?path=/tmp/range', { headers: {
		    Range } })
		return [r.status, await r.text(),
		    r.headers.get('content-range')]
	}
	assert.deepEqual(await get('bytes=2-4'), [206, '234',
	    'bytes 2-4/10'])
	assert.deepEqual(await get('bytes=7-'), [206, '789',
	    'bytes 7-9/10'])
	assert.deepEqual(await get('bytes=-3'), [206, '789',
	    'bytes 7-9/10'])
	assert.equal((await get('bytes=20-'))[0], 416)
	assert.equal((await get('bytes=x'))[0], 200)
	const h = await envd('/files?path=/tmp/range', { method: 'HEAD' })
	assert.equal(h.headers.get('content-length'), '10')
})

test('files of /proc', async () => {
	assert.match(await s.files.read('/proc/self/status'), /Name:/)
})

test('list, by depth', async () => {
	await s.files.write('/tmp/tree/a/b/c', '1')
	await s.files.write('/tmp/tree/d', '2')
	const paths = async (depth) => (await s.files.list('/tmp/tree', {
	    depth })).map((e) => e.path)
	assert.deepEqual(await paths(1), ['/tmp/tree/a', '/tmp/tree/d'])
	assert.deepEqual(await paths(2), ['/tmp/tree/a', '/tmp/tree/a/b',
	    '/tmp/tree/d'])
	assert.deepEqual(await paths(3), ['/tmp/tree/a', '/tmp/tree/a/b',
	    '/tmp/tree/a/b/c', '/tmp/tree/d'])
	const [d] = await s.files.list('/tmp/tree')
	assert.equal(d.type, 'dir')
	assert.equal(d.name, 'a')
	assert.equal(d.permissions, 'drwxr-xr-x')
	await throws(() => s.files.list('/tmp/none'), e2b.FileNotFoundError)
	await throws(() => s.files.list('/tmp/tree/d'),
	    e2b.InvalidArgumentError)
	await throws(() => s.files.list('/tmp', { depth: 0 }),
	    e2b.InvalidArgumentError)
})

test('getInfo', async () => {
	await s.files.write('/tmp/i', 'abc')
	await s.commands.run('chmod 640 /tmp/i; ln -s /tmp/i /tmp/il')
	const i = await s.files.getInfo('/tmp/i')
	assert.deepEqual([i.name, i.path, i.size, i.mode, i.permissions,
	    i.owner, i.group, i.type], ['i', '/tmp/i', 3, 0o640,
	    '-rw-r-----', 'root', 'root', 'file'])
	assert.ok(Math.abs(i.modifiedTime.getTime() - Date.now()) < 60_000)
	const l = await s.files.getInfo('/tmp/il')
	assert.equal(l.type, 'symlink')
	assert.equal(l.symlinkTarget, '/tmp/i')
	await throws(() => s.files.getInfo('/tmp/none'),
	    e2b.FileNotFoundError)
})

test('exists', async () => {
	assert.equal(await s.files.exists('/tmp'), true)
	assert.equal(await s.files.exists('/tmp/none'), false)
})

test('makeDir', async () => {
	assert.equal(await s.files.makeDir('/tmp/md/x/y'), true)
	assert.equal(await s.files.makeDir('/tmp/md/x/y'), false)
	assert.equal((await s.files.getInfo('/tmp/md/x')).type, 'dir')
	await s.files.write('/tmp/mf', '')
	await throws(() => s.files.makeDir('/tmp/mf'), e2b.SandboxError)
})

test('rename', async () => {
	await s.files.write('/tmp/old', 'x')
	const i = await s.files.rename('/tmp/old', '/tmp/new')
	assert.equal(i.path, '/tmp/new')
	assert.equal(await s.files.exists('/tmp/old'), false)
	assert.equal(await s.files.read('/tmp/new'), 'x')
	await throws(() => s.files.rename('/tmp/none', '/tmp/z'),
	    e2b.FileNotFoundError)
})

test('remove', async () => {
	await s.files.write('/tmp/rm/a/b', 'x')
	await s.files.remove('/tmp/rm')
	assert.equal(await s.files.exists('/tmp/rm'), false)
	await s.files.remove('/tmp/rm')
})

test('watch a directory', async () => {
	await s.files.makeDir('/tmp/w')
	const got = []
	const h = await s.files.watchDir('/tmp/w', (e) => void got.push(
	    `${e.type} ${e.name}`))
	await s.files.write('/tmp/w/f', 'x')
	await until(() => got.includes('create f') &&
	    got.includes('write f'))
	await s.commands.run('chmod 600 /tmp/w/f')
	await until(() => got.includes('chmod f'))
	await s.files.rename('/tmp/w/f', '/tmp/w/g')
	await until(() => got.some((x) => x === 'rename f'))
	await s.files.remove('/tmp/w/g')
	await until(() => got.includes('remove g'))
	await h.stop()
})

test('watch below as well', async () => {
	await s.files.makeDir('/tmp/wr/sub')
	const got = []
	const h = await s.files.watchDir('/tmp/wr', (e) => void got.push(
	    e.name), { recursive: true })
	await s.files.write('/tmp/wr/sub/x', '1')
	await until(() => got.includes('sub/x'))
	await h.stop()
	const flat = []
	const h2 = await s.files.watchDir('/tmp/wr', (e) => void flat.push(
	    e.name))
	await s.files.write('/tmp/wr/sub/y', '1')
	await s.files.write('/tmp/wr/z', '1')
	await until(() => flat.includes('z'))
	assert.ok(!flat.some((n) => n.includes('y')))
	await h2.stop()
})

test('watch with entries', async () => {
	await s.files.makeDir('/tmp/we')
	const got = []
	const h = await s.files.watchDir('/tmp/we', (e) => void got.push(e),
	    { includeEntry: true })
	await s.files.write('/tmp/we/f', 'abc')
	await until(() => got.some((e) => e.type === 'write' && e.entry &&
	    e.entry.path === '/tmp/we/f'))
	await h.stop()
})

test('watch what is not there', async () => {
	await throws(() => s.files.watchDir('/tmp/none', () => {}),
	    e2b.FileNotFoundError)
})

test('a watch ends when its time is over', async () => {
	let end
	await s.files.makeDir('/tmp/wt')
	await s.files.watchDir('/tmp/wt', () => {}, { timeoutMs: 1_000,
	    onExit: (e) => void (end = e ?? 'ended') })
	await until(() => end)
	assert.ok(end instanceof e2b.TimeoutError, String(end))
})

test('watchers whose events are fetched', async () => {
	const call = async (m, b) => {
		const r = await envd(`/filesystem.Filesystem/${m}`, {
		    method: 'POST', body: JSON.stringify(b), headers: {
		    'Content-Type': 'application/json' } })
		return [r.status, await r.json()]
	}
	await s.files.makeDir('/tmp/wf')
	const [, { watcherId }] = await call('CreateWatcher', {
	    path: '/tmp/wf' })
	assert.ok(watcherId)
	await s.files.write('/tmp/wf/a', '1')
	const seen = []
	await until(async () => {
		const [, r] = await call('GetWatcherEvents', { watcherId })
		seen.push(...(r.events ?? []))
		return seen.some((e) => e.name === 'a' &&
		    e.type === 'EVENT_TYPE_CREATE')
	})
	assert.equal((await call('RemoveWatcher', { watcherId }))[0], 200)
	assert.equal((await call('GetWatcherEvents', { watcherId }))[0], 404)
	assert.equal((await call('CreateWatcher', { path: '/tmp/none' }))[0],
	    404)
})

test('signed addresses', async () => {
	await s.files.write('/tmp/signed', 'secret')
	const down = await s.downloadUrl('/tmp/signed')
	assert.equal(await (await fetch(down)).text(), 'secret')
	const up = await s.uploadUrl('/tmp/up', { user: 'user' })
	const f = new FormData()
	f.append('file', new Blob(['sent']), 'ignored')
	const r = await fetch(up, { method: 'POST', body: f })
	assert.equal(r.status, 200, await r.text())
	const i = await s.files.getInfo('/tmp/up')
	assert.equal(i.owner, 'user')
	/* for another file, or to write, it is not good */
	assert.equal((await fetch(down.replace('signed', 'other'))).status,
	    401)
	assert.equal((await fetch(down, { method: 'POST', body: 'x' }))
	    .status, 401)
	assert.equal((await fetch(down.replace(/signature=[^&]*/,
	    'signature=v1_x'))).status, 401)
})

test('signed addresses expire', async () => {
	await s.files.write('/tmp/signed', 'secret')
	const down = await s.downloadUrl('/tmp/signed', {
	    useSignatureExpiration: 60 })
	assert.equal((await fetch(down)).status, 200)
	assert.equal((await fetch(down.replace(/expiration=\d+/,
	    'expiration=9999999999'))).status, 401)
	const old = await s.downloadUrl('/tmp/signed', {
	    useSignatureExpiration: -10 })
	assert.equal((await fetch(old)).status, 401)
})

test('two gigabytes up and down in constant memory', async () => {
	const size = 2 * 1024 ** 3
	const piece = randomBytes(1 << 20)
	const up = createHash('sha256')
	async function* pieces() {
		for (let i = 0; i < size / piece.length; i++) {
			piece.writeUInt32BE(i)
			const c = Buffer.from(piece)
			up.update(c)
			yield c
		}
	}
	const w = await envd('/files?path=/var/tmp/big', { method: 'POST',
	    body: Readable.toWeb(Readable.from(pieces())), duplex: 'half',
	    headers: { 'Content-Type': 'application/octet-stream' } })
	assert.equal(w.status, 200, await w.text())
	assert.equal((await s.files.getInfo('/var/tmp/big')).size, size)
	const down = createHash('sha256')
	const r = await envd('/files?path=/var/tmp/big')
	for await (const c of r.body)
		down.update(c)
	assert.equal(down.digest('hex'), up.digest('hex'))
	await s.files.remove('/var/tmp/big')
	const pid = process.env.GW_PID
	if (pid) {
		const { readFileSync } = await import('node:fs')
		const status = readFileSync(`/proc/${pid}/status`, 'utf8')
		const kb = Number(status.match(/VmHWM:\s+(\d+)/)[1])
		assert.ok(kb < 200_000, `${kb} KiB`)
	}
})

test('a client that hangs up in the middle of a download', async () => {
	await s.commands.run('head -c 50000000 /dev/zero > /tmp/zeros')
	const c = new AbortController()
	const r = await envd('/files?path=/tmp/zeros', { signal: c.signal })
	await r.body.getReader().read()
	c.abort()
	assert.equal(await s.files.exists('/tmp/zeros'), true)
})

test('a client that hangs up in the middle of an upload', async () => {
	const c = new AbortController()
	let pulls = 0
	const body = new ReadableStream({ async pull(ctl) {
		await sleep(50)
		if (pulls++ < 100)
			ctl.enqueue(new Uint8Array(1000))
		else
			ctl.close()
	} })
	setTimeout(() => c.abort(), 300)
	await throws(() => envd('/files?path=/tmp/cut', { method: 'POST',
	    body, duplex: 'half', signal: c.signal, headers: {
	    'Content-Type': 'application/octet-stream' } }), Error)
	assert.equal((await s.commands.run('echo ok')).stdout, 'ok\n')
})
