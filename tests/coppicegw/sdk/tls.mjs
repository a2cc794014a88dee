// The whole of it by TLS.
import test from 'node:test'
import net from 'node:net'
import tls from 'node:tls'
import { randomBytes } from 'node:crypto'
import { api, assert, create } from './lib.mjs'

const { hostname, port } = new URL(api)

test('the SDK by https', async () => {
	const s = await create()
	assert.equal((await s.commands.run('echo hi')).stdout, 'hi\n')
	const data = randomBytes(2_000_000)
	await s.files.write('/tmp/b', new Blob([data]))
	const got = await s.files.read('/tmp/b', { format: 'bytes' })
	assert.ok(Buffer.from(got).equals(data))
})

test('ALPN is http/1.1', async () => {
	const p = await new Promise((resolve, reject) => {
		const c = tls.connect({ host: hostname, port, ALPNProtocols: [
		    'h2', 'http/1.1'], rejectUnauthorized: false }, () => {
			resolve([c.alpnProtocol, c.getProtocol()])
			c.destroy()
		})
		c.on('error', reject)
	})
	assert.deepEqual(p, ['http/1.1', 'TLSv1.3'])
})

test('old versions and plain text are refused', async () => {
	const bad = (opts) => new Promise((resolve) => {
		const c = tls.connect({ host: hostname, port,
		    rejectUnauthorized: false, ...opts }, () => resolve(false))
		c.on('error', () => resolve(true))
	})
	assert.ok(await bad({ maxVersion: 'TLSv1.1', minVersion: 'TLSv1',
	    ciphers: 'DEFAULT@SECLEVEL=0' }))
	const got = await new Promise((resolve) => {
		let text = ''
		const c = net.connect(port, hostname, () => c.write(
		    'GET /health HTTP/1.1\r\nHost: x\r\n\r\n'))
		c.on('data', (d) => void (text += d.toString('latin1')))
		c.on('close', () => resolve(text))
		c.on('error', () => resolve(text))
	})
	assert.ok(!got.includes('HTTP/1.1'))
})
