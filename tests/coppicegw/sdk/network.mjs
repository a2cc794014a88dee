// What a sandbox may reach, in the SDK's words and in coppice's.
import test from 'node:test'
import { execFileSync } from 'node:child_process'
import { assert, create, e2b, raw, Sandbox, throws } from './lib.mjs'

const ctl = process.env.OBJTOP + '/sbin/coppicectl/coppicectl'
const policy = (s) => execFileSync(ctl, ['net', 'show', s.sandboxId], {
    encoding: 'utf8' })

test('nothing said is the policy of the host', async () => {
	const s = await create()
	assert.match(policy(s), /open/)
	assert.equal((await s.getInfo()).network, undefined)
})

test('no internet', async () => {
	const s = await create({ allowInternetAccess: false })
	assert.match(policy(s), /airgap/)
	assert.equal((await s.getInfo()).allowInternetAccess, false)
})

test('only what is allowed, with names and ports', async () => {
	const s = await create({ network: { denyOut: ({ allTraffic }) =>
	    [allTraffic], allowOut: ['pypi.org:443', '*.example.com',
	    '198.51.100.0/24', '203.0.113.7:53'] } })
	const p = policy(s)
	assert.match(p, /allowlist/)
	for (const e of ['pypi.org:443', '*.example.com', '198.51.100.0/24',
	    '203.0.113.7'])
		assert.ok(p.includes(e), `${e} in ${p}`)
	assert.deepEqual((await s.getInfo()).network.denyOut, ['0.0.0.0/0'])
})

test('everything but', async () => {
	const s = await create({ network: { denyOut: ['198.51.100.0/24'] } })
	const p = policy(s)
	assert.match(p, /open/)
	assert.match(p, /deny.*198\.51\.100\.0\/24/)
})

test('a change while it runs', async () => {
	const s = await create()
	await s.updateNetwork({ allowInternetAccess: false })
	assert.match(policy(s), /airgap/)
	await s.updateNetwork({ denyOut: ['0.0.0.0/0'], allowOut: [
	    '203.0.113.9'] })
	assert.match(policy(s), /203\.0\.113\.9/)
	await s.updateNetwork({})
	assert.match(policy(s), /open/)
	await throws(() => Sandbox.updateNetwork('f'.repeat(32), {}),
	    e2b.SandboxNotFoundError)
})

test('what is no address, and what is not supported', async () => {
	for (const allowOut of [['a b'], ['x\ny'], ['1.2.3.4/99'],
	    ['x:99999'], 'x', [3], Array(300).fill('1.2.3.4')]) {
		const r = await raw('POST', '/v2/sandboxes', { templateID:
		    'tiny', network: { allowOut, denyOut: ['0.0.0.0/0'] } })
		assert.equal(r.status, 400, JSON.stringify(allowOut)
		    .slice(0, 50))
	}
	await throws(() => Sandbox.create({ network: { rules: { 'x.org': [{
	    transform: { headers: { a: 'b' } } }] } } }), e2b.SandboxError,
	    /not supported/)
	await throws(() => Sandbox.create({ network: { egressProxy: {
	    address: 'x:1' } } }), e2b.SandboxError, /not supported/)
})

test('metrics tell how many addresses there are', async () => {
	const t = await (await raw('GET', '/metrics')).text()
	assert.match(t, /coppicegw_addresses\{pool="jail",state="total"\} 241\n/)
	assert.match(t, /coppicegw_addresses\{pool="jail",state="live"\} \d+\n/)
})
