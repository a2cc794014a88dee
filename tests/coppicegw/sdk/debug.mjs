// The SDK's debug mode, in which it creates no sandbox: one is there behind
// the port of envd.
import test from 'node:test'
import { assert, Sandbox } from './lib.mjs'

test('commands and files in debug mode', async () => {
	const s = await Sandbox.create({ debug: true })
	assert.equal(s.sandboxId, 'debug_sandbox_id')
	assert.equal((await s.commands.run('echo hi')).stdout, 'hi\n')
	await s.files.write('/tmp/x', 'y')
	const again = await Sandbox.connect('debug_sandbox_id', { debug: true })
	assert.equal(await again.files.read('/tmp/x'), 'y')
	assert.equal(await s.isRunning(), true)
})
