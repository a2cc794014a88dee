import test from 'node:test'
import { readFileSync } from 'node:fs'
import { assert, create, e2b, raw, sleep, Sandbox, throws, until } from
    './lib.mjs'

const nobody = 'f'.repeat(32)

test('create answers an id and a token', async () => {
	const s = await create()
	assert.match(s.sandboxId, /^[0-9a-f]{32}$/)
	assert.ok(s.envdAccessToken)
	assert.equal(await s.isRunning(), true)
})

test('create by the name of a template', async () => {
	const s = await create('tiny')
	assert.equal((await s.getInfo()).templateId, 'tiny')
})

test('base is the template that is configured', async () => {
	const s = await create('base')
	const i = await s.getInfo()
	assert.equal(i.templateId, 'base')
	assert.equal(i.name, 'tiny')
})

test('create of an unknown template fails', async () => {
	await throws(() => Sandbox.create('no-such'), e2b.SandboxError, /404/)
})

test('create with a timeout', async () => {
	const s = await create({ timeoutMs: 100_000 })
	const i = await s.getInfo()
	const left = i.endAt.getTime() - Date.now()
	assert.ok(left > 80_000 && left < 101_000, String(left))
	assert.ok(Math.abs(i.startedAt.getTime() - Date.now()) < 20_000)
})

test('a sandbox is killed when its time is over', async () => {
	const s = await create({ timeoutMs: 1_000 })
	await until(async () => !(await s.isRunning()))
})

test('setTimeout makes it longer and shorter', async () => {
	const s = await create({ timeoutMs: 30_000 })
	await s.setTimeout(200_000)
	assert.ok((await s.getInfo()).endAt.getTime() - Date.now() > 150_000)
	await s.setTimeout(1_000)
	await until(async () => !(await s.isRunning()))
})

test('metadata is kept', async () => {
	const metadata = { who: 'me', 'with space': 'ünïcödé', empty: '' }
	const s = await create({ metadata })
	assert.deepEqual((await s.getInfo()).metadata, metadata)
})

test('environment of the sandbox reaches commands', async () => {
	const s = await create({ envs: { FOO: 'bar', U: 'é' } })
	const r = await s.commands.run('echo $FOO $U')
	assert.equal(r.stdout, 'bar é\n')
	const e = await fetch(process.env.E2B_API_URL + '/envs', { headers: {
		'E2b-Sandbox-Id': s.sandboxId,
		'X-Access-Token': s.envdAccessToken } })
	assert.equal((await e.json()).FOO, 'bar')
})

test('getInfo of what is not there', async () => {
	await throws(() => Sandbox.getInfo(nobody), e2b.SandboxNotFoundError)
	await throws(() => Sandbox.getInfo('short'), e2b.SandboxNotFoundError)
})

test('kill once, and again', async () => {
	const s = await create()
	assert.equal(await s.kill(), true)
	assert.equal(await s.kill(), false)
	assert.equal(await s.isRunning(), false)
	assert.equal(await Sandbox.kill(nobody), false)
})

test('commands of a killed sandbox fail as not found', async () => {
	const s = await create()
	await s.kill()
	await throws(() => s.commands.run('true'), e2b.SandboxError)
	await throws(() => s.files.read('/etc/passwd'), e2b.TimeoutError)
})

test('setTimeout of what is not there', async () => {
	await throws(() => Sandbox.setTimeout(nobody, 1000),
	    e2b.SandboxNotFoundError)
})

test('list finds by metadata', async () => {
	const tag = 'm' + Date.now()
	const a = await create({ metadata: { tag, n: '1' } })
	const b = await create({ metadata: { tag, n: '2 & 3=4' } })
	const all = await Sandbox.list({ query: { metadata: { tag } } })
	    .nextItems()
	assert.deepEqual(all.map((s) => s.sandboxId).sort(),
	    [a.sandboxId, b.sandboxId].sort())
	const one = await Sandbox.list({ query: { metadata: { tag,
	    n: '2 & 3=4' } } }).nextItems()
	assert.deepEqual(one.map((s) => s.sandboxId), [b.sandboxId])
	assert.equal(one[0].state, 'running')
	assert.deepEqual(one[0].metadata, { tag, n: '2 & 3=4' })
})

test('list goes page by page', async () => {
	const tag = 'p' + Date.now()
	const ids = []
	for (let i = 0; i < 5; i++)
		ids.push((await create({ metadata: { tag } })).sandboxId)
	const p = Sandbox.list({ query: { metadata: { tag } }, limit: 2 })
	const got = []
	let pages = 0
	while (p.hasNext && pages++ < 10)
		got.push(...(await p.nextItems()).map((s) => s.sandboxId))
	assert.equal(pages, 3)
	assert.deepEqual(got, ids.reverse())
	const asc = Sandbox.list({ query: { metadata: { tag } }, limit: 3,
	    order: 'asc' })
	const up = (await asc.nextItems()).map((s) => s.sandboxId)
	assert.deepEqual(up, got.reverse().slice(0, 3))
})

test('list by template and start', async () => {
	const tag = 't' + Date.now()
	await create('tiny', { metadata: { tag } })
	const q = { metadata: { tag } }
	const n = async (query) => (await Sandbox.list({ query: { ...q,
	    ...query } }).nextItems()).length
	assert.equal(await n({ template: 'tiny' }), 1)
	assert.equal(await n({ template: 'other' }), 0)
	assert.equal(await n({ startedAfter: new Date(Date.now() - 60_000) }),
	    1)
	assert.equal(await n({ startedAfter: new Date(Date.now() + 60_000) }),
	    0)
})

test('list by the first version of the API', async () => {
	const tag = 'v' + Date.now()
	const s = await create({ metadata: { tag } })
	const r = await raw('GET', `/sandboxes?metadata=tag%3D${tag}`)
	assert.equal(r.status, 200)
	assert.deepEqual((await r.json()).map((x) => x.sandboxID),
	    [s.sandboxId])
})

test('a malformed list is refused', async () => {
	for (const q of ['limit=0', 'limit=101', 'limit=x', 'nextToken=x',
	    'startedAfter=x', 'metadata=x', 'state=odd'])
		assert.equal((await raw('GET', `/v2/sandboxes?${q}`)).status,
		    400, q)
})

test('create by the first version, secure or not', async () => {
	let r = await raw('POST', '/sandboxes', { templateID: 'tiny' })
	assert.equal(r.status, 201)
	let j = await r.json()
	assert.equal(j.envdAccessToken, undefined)
	await Sandbox.kill(j.sandboxID)
	r = await raw('POST', '/sandboxes', { templateID: 'tiny',
	    secure: true })
	j = await r.json()
	assert.ok(j.envdAccessToken)
	await Sandbox.kill(j.sandboxID)
})

test('malformed requests to create are refused', async () => {
	for (const b of ['{', '[]', '{}', '{"templateID":1}',
	    '{"templateID":"tiny","timeout":-1}',
	    '{"templateID":"tiny","timeout":"x"}',
	    '{"templateID":"tiny","metadata":[]}',
	    '{"templateID":"tiny","metadata":{"a":1}}',
	    '{"templateID":"tiny","envVars":{"a=b":"c"}}',
	    '{"templateID":"tiny","network":3}',
	    '{"templateID":"tiny","templateID":"tiny"}']) {
		const r = await raw('POST', '/v2/sandboxes', b, {
			'Content-Type': 'application/json' })
		assert.equal(r.status, 400, b)
		assert.equal((await r.json()).code, 400)
	}
})

test('volumes are refused in words', async () => {
	await throws(() => Sandbox.create({ volumeMounts: { '/x': 'vol' } }),
	    e2b.SandboxError, /volumes are not supported/)
})

test('refresh makes the time longer', async () => {
	const s = await create({ timeoutMs: 30_000 })
	const r = await raw('POST', `/sandboxes/${s.sandboxId}/refreshes`,
	    { duration: 100 })
	assert.equal(r.status, 204)
})

test('metrics of one and of many', async () => {
	const s = await create()
	await s.commands.run('true')
	const [m] = await s.getMetrics()
	assert.ok(m.memUsed > 0 && m.cpuCount >= 1)
	assert.ok(Math.abs(m.timestamp.getTime() - Date.now()) < 60_000)
	const r = await raw('GET', `/sandboxes/metrics?sandbox_ids=` +
	    `${s.sandboxId},${nobody}`)
	assert.deepEqual(Object.keys((await r.json()).sandboxes),
	    [s.sandboxId])
	await throws(() => Sandbox.getMetrics(nobody),
	    e2b.SandboxNotFoundError)
})

test('logs are lines', async () => {
	const s = await create()
	for (const v of ['', '/v2']) {
		const r = await raw('GET', `${v}/sandboxes/${s.sandboxId}/logs`)
		assert.equal(r.status, 200)
		assert.ok(Array.isArray((await r.json()).logs))
	}
	assert.equal((await raw('GET', `/sandboxes/${nobody}/logs`)).status,
	    404)
})

test('connect to a sandbox by its id', async () => {
	const s = await create({ timeoutMs: 30_000 })
	await s.files.write('/tmp/x', 'hello')
	const c = await Sandbox.connect(s.sandboxId, { timeoutMs: 300_000 })
	assert.equal(await c.files.read('/tmp/x'), 'hello')
	assert.ok((await c.getInfo()).endAt.getTime() - Date.now() > 200_000)
	/* a shorter time changes nothing */
	await Sandbox.connect(s.sandboxId, { timeoutMs: 1_000 })
	assert.ok((await c.getInfo()).endAt.getTime() - Date.now() > 200_000)
	await throws(() => Sandbox.connect(nobody), e2b.SandboxNotFoundError)
})

test('pause and resume keep processes', async () => {
	const s = await create({ timeoutMs: 100_000 })
	const p = await s.commands.run('i=0; while sleep 0.1; do ' +
	    'i=$((i+1)); echo $i > /tmp/m; mv /tmp/m /tmp/n; done', { background: true,
	    timeoutMs: 0 })
	await until(() => s.files.exists('/tmp/n'))
	assert.equal(await s.pause(), true)
	assert.equal(await s.pause(), false)
	assert.equal(await s.isRunning(), false)
	assert.equal((await s.getInfo()).state, 'paused')
	const paused = await Sandbox.list({ query: { state: ['paused'] } })
	    .nextItems()
	assert.ok(paused.some((x) => x.sandboxId === s.sandboxId))
	const c = await Sandbox.connect(s.sandboxId, { timeoutMs: 100_000 })
	assert.equal(await c.isRunning(), true)
	const before = await c.files.read('/tmp/n')
	await until(async () => await c.files.read('/tmp/n') !== before)
	await p.kill()
})

test('resume by the first version', async () => {
	const s = await create()
	const at = `/sandboxes/${s.sandboxId}/resume`
	assert.equal((await raw('POST', at, {})).status, 409)
	await s.pause()
	assert.equal((await raw('POST', at, { timeout: 60 })).status, 201)
	assert.equal(await s.isRunning(), true)
})

test('a sandbox pauses at its end, and wakes by itself', async () => {
	const s = await create({ timeoutMs: 1_000, lifecycle: {
	    onTimeout: 'pause', autoResume: true } })
	const i = await s.getInfo()
	assert.deepEqual(i.lifecycle, { onTimeout: 'pause',
	    autoResume: true })
	await until(async () => (await s.getInfo()).state === 'paused')
	assert.equal((await s.commands.run('echo woken')).stdout, 'woken\n')
})

test('a sandbox that does not wake stays asleep', async () => {
	const s = await create({ timeoutMs: 1_000, lifecycle: {
	    onTimeout: 'pause' } })
	await until(async () => (await s.getInfo()).state === 'paused')
	await throws(() => s.commands.run('true'), e2b.SandboxError)
	assert.equal((await s.getInfo()).state, 'paused')
})

test('a default of five minutes', async () => {
	const s = await create()
	const left = (await s.getInfo()).endAt.getTime() - Date.now()
	assert.ok(left > 280_000 && left < 301_000, String(left))
})

test('pausing without memory is refused', async () => {
	const s = await create()
	await throws(() => s.pause({ keepMemory: false }), e2b.SandboxError,
	    /memory/)
	await throws(() => Sandbox.connect(s.sandboxId, { onResume: 'reboot'
	    }), e2b.SandboxError, /memory/)
	await throws(() => Sandbox.create({ lifecycle: { onTimeout: {
	    action: 'pause', keepMemory: false } } }), e2b.SandboxError,
	    /memory/)
})

test('pause of what is not there', async () => {
	await throws(() => Sandbox.pause(nobody), e2b.SandboxNotFoundError)
})

test('snapshot, and a sandbox from it', async () => {
	const s = await create()
	await s.files.write('/home/user/kept', 'snap')
	const snap = await s.createSnapshot({ name: 'mine' })
	assert.deepEqual(snap.names, ['mine'])
	const t = await create(snap.snapshotId)
	assert.equal(await t.files.read('/home/user/kept'), 'snap')
	const list = await s.listSnapshots().nextItems()
	assert.deepEqual(list.map((x) => x.snapshotId), [snap.snapshotId])
	await t.kill()
	assert.equal(await Sandbox.deleteSnapshot(snap.snapshotId), true)
	assert.equal(await Sandbox.deleteSnapshot(snap.snapshotId), false)
	await throws(() => Sandbox.create(snap.snapshotId), e2b.SandboxError)
	await throws(() => Sandbox.createSnapshot(nobody),
	    e2b.SandboxNotFoundError)
})

test('fork', async () => {
	const s = await create({ metadata: { a: 'b' } })
	await s.files.write('/home/user/x', '1')
	const forks = await s.fork({ count: 2, timeoutMs: 60_000 })
	assert.equal(forks.length, 2)
	for (const f of forks) {
		assert.ok(!(f instanceof Error), String(f))
		assert.notEqual(f.sandboxId, s.sandboxId)
		assert.notEqual(f.envdAccessToken, s.envdAccessToken)
		assert.equal(await f.files.read('/home/user/x'), '1')
		assert.deepEqual((await f.getInfo()).metadata, { a: 'b' })
		await f.kill()
	}
	await throws(() => Sandbox.fork(nobody), e2b.SandboxNotFoundError)
})

test('templates', async () => {
	let r = await raw('GET', '/templates')
	assert.ok((await r.json()).some((t) => t.names.includes('tiny')))
	r = await raw('GET', '/templates/tiny')
	assert.equal((await r.json()).builds.length, 1)
	r = await raw('GET', '/templates/aliases/base')
	assert.equal((await r.json()).templateID, 'tiny')
	assert.equal((await raw('GET', '/templates/none')).status, 404)
	assert.equal((await raw('GET', '/templates/aliases/none')).status, 404)
	assert.equal((await raw('DELETE', '/templates/none')).status, 404)
})

test('health and metrics of the gateway', async () => {
	assert.equal((await fetch(process.env.E2B_API_URL + '/health')).status,
	    204)
	const t = await (await raw('GET', '/metrics')).text()
	// Each counts for itself.
	const many = await Promise.all([...Array(8)].map(async () =>
	    (await (await raw('GET', '/metrics')).text())
		.match(/coppicegw_sandboxes\{state="running"\} (\d+)/)[1]))
	assert.equal(new Set(many).size, 1)
	assert.match(t, /coppicegw_create_seconds_count [1-9]/)
	assert.match(t, /coppicegw_sandboxes\{state="running"\}/)
	assert.match(t, /coppicegw_up 1/)
})

test('the id of a request is in the log of coppiced', async () => {
	const r = await raw('POST', '/sandboxes', { templateID: 'tiny' })
	const id = r.headers.get('x-request-id')
	assert.match(id, /^[0-9a-f]{16}$/)
	await Sandbox.kill((await r.json()).sandboxID)
	const log = readFileSync(process.env.GW_DIR + '/coppiced.log', 'utf8')
	assert.match(log, new RegExp(`"request_id":"${id}".*create: done`))
})

test('a hundred sandboxes in parallel', async () => {
	const all = await Promise.all(Array.from({ length: 100 }, (_, i) =>
	    create({ timeoutMs: 120_000, envs: { N: String(i) } })))
	const out = await Promise.all(all.map((s) => s.commands.run(
	    'echo $N')))
	assert.deepEqual(out.map((o) => o.stdout.trim()), all.map((_, i) =>
	    String(i)))
	await Promise.all(all.map((s) => s.kill()))
})
