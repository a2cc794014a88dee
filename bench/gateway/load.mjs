// One measurement by the SDK or by plain requests: "node load.mjs what"
// prints a number.
import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'
import path from 'node:path'

const require = createRequire(path.join(process.env.SDK, 'x.js'))
const { Sandbox } = require('e2b')
const api = process.env.E2B_API_URL
const [, , what, arg] = process.argv

const seconds = async (fn) => {
	const t = performance.now()
	await fn()
	return (performance.now() - t) / 1000
}

// The first calls are not counted: Node still compiles what they do.
async function median(n, fn) {
	const all = []
	for (let i = 0; i < n; i++)
		await fn()
	for (let i = 0; i < n; i++)
		all.push(await seconds(fn))
	return all.sort((a, b) => a - b)[n >> 1]
}

const rss = () => Number(readFileSync(`/proc/${arg}/status`, 'utf8')
    .match(/VmRSS:\s+(\d+)/)[1])

// Memory of the gateway, in KiB, for each of a thousand streams that wait.
async function idle(s) {
	const h = await s.commands.run('sleep 600', { background: true,
	    timeoutMs: 0 })
	const n = 1000
	const body = Buffer.from(JSON.stringify({ process: { pid: h.pid } }))
	const head = Buffer.alloc(5)
	head.writeUInt32BE(body.length, 1)
	const before = rss()
	const all = await Promise.all(Array.from({ length: n }, () =>
	    fetch(api + '/process.Process/Connect', { method: 'POST',
		body: Buffer.concat([head, body]), headers: {
		'Content-Type': 'application/connect+json',
		'E2b-Sandbox-Id': s.sandboxId,
		'X-Access-Token': s.envdAccessToken } })))
	if (all.some((r) => r.status !== 200))
		throw new Error('a stream was refused')
	return (rss() - before) / n
}

const loads = {
	create: async () => {
		const all = []
		for (let i = 0; i < 5; i++) {
			let s
			all.push(await seconds(async () => {
				s = await Sandbox.create()
				await s.commands.run('true')
			}))
			await s.kill()
		}
		return all.sort((a, b) => a - b)[2]
	},
	run: async (s) => await median(100, () => s.commands.run('true')),
	health: async () => await median(100, async () =>
	    (await fetch(api + '/health')).text()),
	idle,
	box: async (s) => s.sandboxId,
}

const warm = await Sandbox.create({ timeoutMs: 600_000 })
await warm.commands.run('true')
await (await fetch(api + '/health')).text()
console.log(await loads[what](warm))
if (what !== 'box')
	await warm.kill()
process.exit(0)
