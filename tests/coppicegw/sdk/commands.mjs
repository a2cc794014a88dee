import test, { before } from 'node:test'
import { assert, create, e2b, sleep, Sandbox, throws, until } from './lib.mjs'

let s

before(async () => {
	s = await create({ timeoutMs: 600_000 })
})

test('stdout and stderr apart', async () => {
	const r = await s.commands.run('echo out; echo err >&2')
	assert.deepEqual([r.exitCode, r.stdout, r.stderr], [0, 'out\n',
	    'err\n'])
})

test('no output at all', async () => {
	const r = await s.commands.run('true')
	assert.deepEqual([r.exitCode, r.stdout, r.stderr], [0, '', ''])
})

test('an exit status is an error', async () => {
	const e = await throws(() => s.commands.run('echo x; exit 3'),
	    e2b.CommandExitError)
	assert.equal(e.exitCode, 3)
	assert.equal(e.stdout, 'x\n')
	assert.match(e.error, /exit status 3/)
})

test('a command that is not there', async () => {
	const e = await throws(() => s.commands.run('nosuchcommand'),
	    e2b.CommandExitError)
	assert.equal(e.exitCode, 127)
})

test('working directory', async () => {
	assert.equal((await s.commands.run('pwd', { cwd: '/tmp' })).stdout,
	    '/tmp\n')
	await throws(() => s.commands.run('pwd', { cwd: '/nowhere' }),
	    e2b.SandboxError)
})

test('environment of a command', async () => {
	const r = await s.commands.run('echo "$A|$B"', { envs: { A: '1',
	    B: 'x y "z"' } })
	assert.equal(r.stdout, '1|x y "z"\n')
})

test('as another user', async () => {
	const r = await s.commands.run('id -un; pwd', { user: 'user' })
	assert.equal(r.stdout, 'user\n/home/user\n')
	const q = await s.commands.run('id -u', { user: 'root' })
	assert.equal(q.stdout, '0\n')
	await throws(() => s.commands.run('true', { user: 'nobodyhere' }),
	    Error)
})

test('unicode and binary output', async () => {
	const r = await s.commands.run('printf "日本語 ✓ \\303\\251"')
	assert.equal(r.stdout, '日本語 ✓ é')
	const b = await s.commands.run('printf "\\377\\000\\376"')
	assert.equal(b.stdout, '\ufffd\0\ufffd')
})

test('quotes and newlines in a command', async () => {
	const r = await s.commands.run(`echo 'a "b" $c' && echo "l1
l2"`)
	assert.equal(r.stdout, 'a "b" $c\nl1\nl2\n')
})

test('output comes as it is written', async () => {
	const got = []
	const t = Date.now()
	await s.commands.run('echo a; sleep 1; echo b', { onStdout: (d) =>
	    void got.push([d, Date.now() - t]) })
	assert.deepEqual(got.map((g) => g[0]), ['a\n', 'b\n'])
	assert.ok(got[1][1] - got[0][1] > 700)
})

test('a timeout ends the command', async () => {
	await throws(() => s.commands.run('sleep 60; echo x > /tmp/late',
	    { timeoutMs: 1_000 }), e2b.TimeoutError)
	await until(async () => !(await s.commands.list()).some((p) =>
	    p.args.join(' ').includes('/tmp/late')))
})

test('a command without limit of time', async () => {
	const r = await s.commands.run('sleep 1; echo done', { timeoutMs: 0 })
	assert.equal(r.stdout, 'done\n')
})

test('background, and waiting for it', async () => {
	const h = await s.commands.run('sleep 0.5; echo late', {
	    background: true })
	assert.ok(h.pid > 0)
	assert.equal(h.exitCode, undefined)
	const r = await h.wait()
	assert.equal(r.stdout, 'late\n')
	assert.equal(h.exitCode, 0)
})

test('list shows what runs', async () => {
	const h = await s.commands.run('sleep 33', { background: true,
	    cwd: '/tmp', envs: { Q: '1' } })
	const p = (await s.commands.list()).find((x) => x.pid === h.pid)
	assert.ok(p)
	assert.deepEqual(p.args, ['-l', '-c', 'sleep 33'])
	assert.equal(p.cwd, '/tmp')
	assert.deepEqual(p.envs, { Q: '1' })
	await h.kill()
	await until(async () => !(await s.commands.list()).some((x) =>
	    x.pid === h.pid))
})

test('kill', async () => {
	const h = await s.commands.run('sleep 60', { background: true })
	assert.equal(await s.commands.kill(h.pid), true)
	const e = await throws(() => h.wait(), e2b.CommandExitError)
	assert.equal(e.exitCode, -1)
	assert.match(e.error, /killed/)
	assert.equal(await s.commands.kill(h.pid), false)
	assert.equal(await s.commands.kill(999_999), false)
})

test('stdin', async () => {
	const h = await s.commands.run('cat', { background: true,
	    stdin: true })
	await s.commands.sendStdin(h.pid, 'hello\n')
	await h.sendStdin(new Uint8Array([0xc3, 0xa9, 10]))
	await h.closeStdin()
	const r = await h.wait()
	assert.equal(r.stdout, 'hello\né\n')
})

test('stdin of a command that has none', async () => {
	const h = await s.commands.run('sleep 5', { background: true })
	await throws(() => h.sendStdin('x'), e2b.SandboxError)
	await h.kill()
	await throws(() => s.commands.sendStdin(999_999, 'x'),
	    e2b.NotFoundError)
})

test('much stdin', async () => {
	const h = await s.commands.run('wc -c', { background: true,
	    stdin: true, timeoutMs: 0 })
	const piece = new Uint8Array(1_000_000).fill(97)
	for (let i = 0; i < 8; i++)
		await h.sendStdin(piece)
	await h.closeStdin()
	assert.equal((await h.wait()).stdout.trim(), '8000000')
})

test('connect to a process of another client', async () => {
	const h = await s.commands.run('for i in 1 2 3 4 5 6; do echo $i; ' +
	    'sleep 0.3; done', { background: true })
	const c = await Sandbox.connect(s.sandboxId)
	const got = []
	const h2 = await c.commands.connect(h.pid, { onStdout: (d) =>
	    void got.push(d) })
	assert.equal(h2.pid, h.pid)
	await h2.wait()
	assert.match(got.join(''), /6\n$/)
	assert.equal((await h.wait()).stdout, '1\n2\n3\n4\n5\n6\n')
	await throws(() => c.commands.connect(h.pid), e2b.NotFoundError)
})

test('a process goes on when its client leaves', async () => {
	const h = await s.commands.run('sleep 1; echo x > /tmp/left', {
	    background: true })
	await h.disconnect()
	await until(() => s.files.exists('/tmp/left'))
})

test('a process that nobody listens to does not stall', async () => {
	const h = await s.commands.run('yes | head -c 3000000; ' +
	    'echo x > /tmp/unheard', { background: true })
	await h.disconnect()
	await until(() => s.files.exists('/tmp/unheard'))
})

test('many commands at once', async () => {
	const all = await Promise.all(Array.from({ length: 40 }, (_, i) =>
	    s.commands.run(`echo ${i}`)))
	assert.deepEqual(all.map((r) => Number(r.stdout)), all.map((_, i) =>
	    i))
})

test('a gigabyte of output', async () => {
	let n = 0
	const res = await fetch(process.env.E2B_API_URL +
	    '/process.Process/Start', { method: 'POST', headers: {
		'Content-Type': 'application/connect+json',
		'E2b-Sandbox-Id': s.sandboxId,
		'X-Access-Token': s.envdAccessToken },
	    body: envelope({ process: { cmd: '/bin/sh', args: ['-c',
		'yes 0123456789abcde | head -c 1073741824'] }, stdin: false })
	})
	let end = ''
	for await (const piece of res.body) {
		n += piece.length
		end = (end + Buffer.from(piece).toString('latin1')).slice(-300)
	}
	/* base64 is four thirds of it */
	assert.ok(n > 1073741824 * 4 / 3, String(n))
	assert.match(end, /"exited":true/)
})

function envelope(o) {
	const b = Buffer.from(JSON.stringify(o))
	const h = Buffer.alloc(5)
	h.writeUInt32BE(b.length, 1)
	return Buffer.concat([h, b])
}

test('a sandbox killed in the middle of a command', async () => {
	const x = await create()
	const h = await x.commands.run('sleep 60', { background: true })
	await x.kill()
	await throws(() => h.wait(), e2b.TimeoutError)
})

test('a client that hangs up in the middle', async () => {
	const c = new AbortController()
	const p = s.commands.run('sleep 60', { signal: c.signal })
	setTimeout(() => c.abort(), 300)
	await throws(() => p, Error)
	assert.equal((await s.commands.run('echo ok')).stdout, 'ok\n')
})

test('a terminal', async () => {
	let out = ''
	const t = await s.pty.create({ cols: 80, rows: 24, onData: (d) =>
	    void (out += Buffer.from(d).toString()) })
	const say = (x) => s.pty.sendInput(t.pid, Buffer.from(x))
	await say('stty size\n')
	await until(() => out.includes('24 80'))
	await s.pty.resize(t.pid, { cols: 132, rows: 43 })
	await say('stty size; echo $TERM\n')
	await until(() => out.includes('43 132') &&
	    out.includes('xterm-256color'))
	await say('exit 7\n')
	const e = await throws(() => t.wait(), e2b.CommandExitError)
	assert.equal(e.exitCode, 7)
})

test('a terminal can be killed and connected to', async () => {
	const t = await s.pty.create({ cols: 80, rows: 24, onData: () => {} })
	let out = ''
	const u = await s.pty.connect(t.pid, { onData: (d) =>
	    void (out += Buffer.from(d).toString()) })
	await s.pty.sendInput(t.pid, Buffer.from('echo $((40+2))\n'))
	await until(() => out.includes('42'))
	assert.equal(await s.pty.kill(t.pid), true)
	await throws(() => u.wait(), e2b.CommandExitError)
	assert.equal(await s.pty.kill(t.pid), false)
})

test('a terminal has the user and folder that were asked for', async () => {
	let out = ''
	const t = await s.pty.create({ cols: 80, rows: 24, user: 'user',
	    cwd: '/tmp', envs: { MARK: 'here' }, onData: (d) =>
	    void (out += Buffer.from(d).toString()) })
	await s.pty.sendInput(t.pid, Buffer.from(
	    'echo $MARK-$(id -un)-$(pwd)\n'))
	await until(() => out.includes('here-user-/tmp'))
	await s.pty.kill(t.pid)
})
