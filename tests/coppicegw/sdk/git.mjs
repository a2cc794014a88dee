// The git helpers, in a sandbox that has git, and the log of its first
// command.
import { test } from 'node:test'
import { Sandbox, assert, create, e2b, raw, sleep, throws } from './lib.mjs'

const began = Date.now()
const s = await create('git')
const { git } = s
const repo = '/root/repo'

test('who one is', async () => {
	await git.configureUser('Ann Other', 'ann@example.org')
	assert.equal(await git.getConfig('user.name', { scope: 'global' }),
	    'Ann Other')
	await git.setConfig('core.abbrev', '12')
	assert.equal(await git.getConfig('core.abbrev'), '12')
	assert.equal(await git.getConfig('no.such'), undefined)
})

test('init, add and commit', async () => {
	await git.init(repo, { initialBranch: 'main' })
	await s.files.write(repo + '/a.txt', 'one\n')
	let st = await git.status(repo)
	assert.equal(st.currentBranch, 'main')
	assert.equal(st.isClean, false)
	assert.equal(st.untrackedCount, 1)
	await git.add(repo)
	st = await git.status(repo)
	assert.equal(st.stagedCount, 1)
	assert.equal(st.fileStatus[0].name, 'a.txt')
	await git.commit(repo, 'first; "quoted" $HOME')
	assert.ok((await git.status(repo)).isClean)
	const log = await s.commands.run(`git -C ${repo} log --format=%an:%s`)
	assert.equal(log.stdout, 'Ann Other:first; "quoted" $HOME\n')
})

test('branches', async () => {
	await git.createBranch(repo, 'side')
	let b = await git.branches(repo)
	assert.deepEqual([...b.branches].sort(), ['main', 'side'])
	assert.equal(b.currentBranch, 'side')
	await s.files.write(repo + '/b.txt', 'two\n')
	await git.add(repo, { files: ['b.txt'] })
	await git.commit(repo, 'second', { authorName: 'Bob',
	    authorEmail: 'bob@example.org' })
	await git.checkoutBranch(repo, 'main')
	assert.equal(await s.files.exists(repo + '/b.txt'), false)
	await throws(() => git.deleteBranch(repo, 'side'),
	    e2b.CommandExitError)
	await git.createBranch(repo, 'gone')
	await git.checkoutBranch(repo, 'main')
	await git.deleteBranch(repo, 'gone', { force: true })
	b = await git.branches(repo)
	assert.deepEqual([...b.branches].sort(), ['main', 'side'])
})

test('restore and reset', async () => {
	await s.files.write(repo + '/a.txt', 'changed\n')
	await git.restore(repo, { paths: ['a.txt'] })
	assert.equal(await s.files.read(repo + '/a.txt'), 'one\n')
	await s.files.write(repo + '/a.txt', 'changed\n')
	await git.add(repo)
	await git.reset(repo, { mode: 'hard' })
	assert.equal(await s.files.read(repo + '/a.txt'), 'one\n')
	assert.ok((await git.status(repo)).isClean)
})

test('clone, push and pull', async () => {
	await git.init('/root/bare.git', { bare: true,
	    initialBranch: 'main' })
	await git.remoteAdd(repo, 'origin', '/root/bare.git')
	assert.equal(await git.remoteGet(repo, 'origin'), '/root/bare.git')
	await git.push(repo, { remote: 'origin', branch: 'main',
	    setUpstream: true })
	await git.clone('/root/bare.git', { path: '/root/copy' })
	assert.equal(await s.files.read('/root/copy/a.txt'), 'one\n')
	await s.files.write('/root/copy/c.txt', 'three\n')
	await git.add('/root/copy')
	await git.commit('/root/copy', 'third')
	await git.push('/root/copy')
	await git.pull(repo)
	assert.equal(await s.files.read(repo + '/c.txt'), 'three\n')
	assert.equal((await git.status(repo)).behind, 0)
})

test('what git refuses is an error', async () => {
	await throws(() => git.status('/root/nowhere'), e2b.CommandExitError)
	const e = await throws(() => git.clone('/root/nowhere.git'),
	    e2b.CommandExitError)
	assert.match(e.stderr, /does not exist|not a git repository/)
	await throws(() => git.clone('https://h/x.git', { password: 'p' }),
	    e2b.InvalidArgumentError)
})

test('lines of the log have their times', async () => {
	const id = s.sandboxId
	let logs = []
	for (let i = 0; i < 50 && logs.length < 2; i++) {
		await sleep(100)
		logs = (await (await raw('GET', `/sandboxes/${id}/logs`))
		    .json()).logs
	}
	assert.deepEqual(logs.map((l) => l.line), ['one', 'two'])
	const [one, two] = logs.map((l) => Date.parse(l.timestamp))
	assert.ok(one >= began - 1000 && two <= Date.now())
	assert.ok(two - one >= 800 && two - one < 10_000, `${two - one}`)
	const of = async (q) => (await (await raw('GET',
	    `/v2/sandboxes/${id}/logs?${q}`)).json()).logs
	    .map((l) => l.message)
	assert.deepEqual(await of(`cursor=${two}`), ['two'])
	assert.deepEqual(await of('direction=backward'), ['two', 'one'])
	assert.deepEqual(await of(`direction=backward&cursor=${one}`),
	    ['one'])
	assert.deepEqual(await of('limit=1'), ['one'])
	assert.deepEqual(await of('limit=1&direction=backward'), ['two'])
	assert.equal((await raw('GET', `/v2/sandboxes/${id}/logs?limit=x`))
	    .status, 400)
})

// A machine that others use as well leaves the sandbox only a part of it.
test('metrics tell how busy it is now', async () => {
	const h = await s.commands.run('while :; do :; done',
	    { background: true, timeoutMs: 0 })
	let busy = 0
	for (let i = 0; i < 20 && busy < 20; i++) {
		const [m] = await s.getMetrics()
		busy = Math.max(busy, m.cpuUsedPct)
	}
	await h.kill()
	assert.ok(busy > 1 && busy <= 150, `${busy}`)
	await sleep(500)
	const [idle] = await Sandbox.getMetrics(s.sandboxId)
	assert.ok(idle.cpuUsedPct < busy / 2, `${idle.cpuUsedPct} ${busy}`)
	const envd = await (await raw('GET', '/metrics', undefined, {
	    'E2b-Sandbox-Id': s.sandboxId,
	    'X-Access-Token': s.envdAccessToken })).json()
	assert.ok(envd.cpu_used_pct < busy / 2 && envd.mem_used > 0)
})
