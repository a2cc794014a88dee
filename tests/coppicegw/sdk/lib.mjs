// What the suites share: the SDK from where it is installed, one sandbox per
// file, and a few assertions.
import { after } from 'node:test'
import assert from 'node:assert/strict'
import { webcrypto } from 'node:crypto'
import path from 'node:path'

// The SDK is for Node 20; 18, of Debian 12, has this under that name only.
globalThis.crypto ??= webcrypto

const sdk = process.env.SDK
// As a module: the SDK can't be required by every version of Node.
export const e2b = await import(path.join(sdk,
    'node_modules/e2b/dist/index.mjs'))
export const { Sandbox } = e2b
export const api = process.env.E2B_API_URL
export const key = process.env.E2B_API_KEY
export { assert }

const made = []

// A sandbox that is gone when the file's tests are over.
export async function create(...args) {
	const s = await Sandbox.create(...args)
	made.push(s.sandboxId)
	return s
}

after(async () => {
	for (const id of made)
		await Sandbox.kill(id).catch(() => {})
})

// Fails unless fn throws an error of the class, whose message matches.
export async function throws(fn, cls, re) {
	let err
	try {
		await fn()
	} catch (e) {
		err = e
	}
	assert.ok(err, 'nothing was thrown')
	assert.ok(err instanceof cls, `${err.constructor.name}: ${err.message}`)
	if (re)
		assert.match(err.message, re)
	return err
}

export const sleep = (ms) => new Promise((r) => setTimeout(r, ms))

// Wait until fn is true, ten seconds at most.
export async function until(fn, what) {
	for (let i = 0; i < 100; i++) {
		if (await fn())
			return
		await sleep(100)
	}
	assert.fail(`it never came: ${what ?? fn}`)
}

// The API without the SDK.
export function raw(method, where, body, headers = {}) {
	return fetch(api + where, {
		method,
		headers: { 'X-API-KEY': key, ...(body !== undefined &&
		    typeof body !== 'string' && { 'Content-Type':
		    'application/json' }), ...headers },
		body: body === undefined || typeof body === 'string' ? body :
		    JSON.stringify(body),
	})
}
