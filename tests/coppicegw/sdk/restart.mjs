// A gateway that is killed and started again loses nothing.
import test, { after } from 'node:test'
import { spawn } from 'node:child_process'
import { openSync } from 'node:fs'
import { api, assert, create, e2b, Sandbox, throws, until } from './lib.mjs'

let gw

async function restart() {
	process.kill(gw ? gw.pid : Number(process.env.GW_PID), 'SIGKILL')
	await until(() => fetch(api + '/health').then(() => false, () => true))
	const log = openSync(process.env.GW_DIR + '/gw.log', 'a')
	gw = spawn(process.env.OBJTOP + '/sbin/coppicegw/coppicegw', ['-f',
	    '-p', process.env.GW_DIR], { stdio: ['ignore', log, log] })
	await until(() => fetch(api + '/health').then(() => true, () =>
	    false))
}

after(() => gw?.kill())

test('sandboxes, tokens and processes survive', async () => {
	const s = await create({ metadata: { a: 'b' }, timeoutMs: 300_000 })
	await s.files.write('/tmp/x', '1')
	const h = await s.commands.run('read x; echo got $x', { background:
	    true, stdin: true, timeoutMs: 0 })
	const lost = h.wait().catch((e) => e)
	await restart()
	assert.ok(await lost instanceof Error)
	assert.equal(await s.isRunning(), true)
	assert.equal(await s.files.read('/tmp/x'), '1')
	assert.deepEqual((await s.getInfo()).metadata, { a: 'b' })
	const url = await s.downloadUrl('/tmp/x')
	assert.equal(await (await fetch(url)).text(), '1')
	const again = await s.commands.connect(h.pid)
	await s.commands.sendStdin(h.pid, 'hello\n')
	assert.equal((await again.wait()).stdout, 'got hello\n')
	const list = await Sandbox.list().nextItems()
	assert.ok(list.some((x) => x.sandboxId === s.sandboxId))
})

test('the same once more', async () => {
	const s = await create()
	await restart()
	assert.equal((await s.commands.run('echo ok')).stdout, 'ok\n')
})
