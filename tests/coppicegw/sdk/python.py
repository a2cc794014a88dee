# SPDX-License-Identifier: BSD-2-Clause
#
# The Python SDK, sync and async: what it does differently on the wire.

import asyncio
import os
import time
import unittest

from e2b import (AsyncSandbox, CommandExitException,
    FileNotFoundException, InvalidArgumentException, NotFoundException,
    PtySize, Sandbox, SandboxQuery, SandboxException, TimeoutException)


class Commands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.s = Sandbox.create(timeout=300)

    @classmethod
    def tearDownClass(cls):
        cls.s.kill()

    def test_output(self):
        r = self.s.commands.run('echo out; echo err >&2')
        self.assertEqual((r.exit_code, r.stdout, r.stderr),
            (0, 'out\n', 'err\n'))

    def test_exit_code(self):
        with self.assertRaises(CommandExitException) as e:
            self.s.commands.run('exit 5')
        self.assertEqual(e.exception.exit_code, 5)

    def test_timeout(self):
        with self.assertRaises(TimeoutException):
            self.s.commands.run('sleep 30', timeout=1)

    def test_callbacks(self):
        got = []
        self.s.commands.run('echo 1; sleep 0.3; echo 2',
            on_stdout=lambda d: got.append(d))
        self.assertEqual(''.join(got), '1\n2\n')

    def test_background_and_kill(self):
        h = self.s.commands.run('sleep 60', background=True)
        self.assertIn(h.pid, [p.pid for p in self.s.commands.list()])
        self.assertTrue(self.s.commands.kill(h.pid))
        with self.assertRaises(CommandExitException):
            h.wait()
        self.assertFalse(self.s.commands.kill(h.pid))

    def test_stdin(self):
        h = self.s.commands.run('head -n 1', background=True, stdin=True)
        self.s.commands.send_stdin(h.pid, 'é\n')
        self.assertEqual(h.wait().stdout, 'é\n')

    def test_connect(self):
        h = self.s.commands.run('sleep 1; echo x', background=True)
        self.assertEqual(self.s.commands.connect(h.pid).wait().exit_code, 0)

    def test_much_output(self):
        r = self.s.commands.run('head -c 5000000 /dev/zero | tr "\\0" a')
        self.assertEqual(len(r.stdout), 5_000_000)

    def test_user_env_cwd(self):
        r = self.s.commands.run('echo $A $(id -un) $(pwd)', user='user',
            envs={'A': 'b'}, cwd='/tmp')
        self.assertEqual(r.stdout, 'b user /tmp\n')


class Files(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.s = Sandbox.create(timeout=300)

    @classmethod
    def tearDownClass(cls):
        cls.s.kill()

    def test_text(self):
        i = self.s.files.write('/tmp/a', 'héllo')
        self.assertEqual(i.path, '/tmp/a')
        self.assertEqual(self.s.files.read('/tmp/a'), 'héllo')

    def test_bytes(self):
        data = os.urandom(1_000_000)
        self.s.files.write('/tmp/b', data)
        self.assertEqual(bytes(self.s.files.read('/tmp/b',
            format='bytes')), data)
        self.assertEqual(b''.join(self.s.files.read('/tmp/b',
            format='stream')), data)

    def test_many(self):
        r = self.s.files.write_files([{'path': f'/tmp/m/{i}', 'data': 'x'}
            for i in range(10)])
        self.assertEqual(len(r), 10)
        self.assertEqual(len(self.s.files.list('/tmp/m')), 10)

    def test_info_and_moves(self):
        self.s.files.write('/tmp/i', 'abc')
        self.assertEqual(self.s.files.get_info('/tmp/i').size, 3)
        self.assertEqual(self.s.files.rename('/tmp/i', '/tmp/j').path,
            '/tmp/j')
        self.assertFalse(self.s.files.exists('/tmp/i'))
        self.s.files.remove('/tmp/j')
        self.assertTrue(self.s.files.make_dir('/tmp/d/e'))
        self.assertFalse(self.s.files.make_dir('/tmp/d/e'))

    def test_errors(self):
        with self.assertRaises(FileNotFoundException):
            self.s.files.read('/tmp/none')
        with self.assertRaises(FileNotFoundException):
            self.s.files.list('/tmp/none')
        with self.assertRaises(InvalidArgumentException):
            self.s.files.read('/tmp')

    def test_watch(self):
        self.s.files.make_dir('/tmp/w')
        w = self.s.files.watch_dir('/tmp/w')
        self.s.files.write('/tmp/w/f', 'x')
        got = []
        for _ in range(50):
            got += [e.name for e in w.get_new_events()]
            if 'f' in got:
                break
            time.sleep(0.1)
        w.stop()
        self.assertIn('f', got)


class Life(unittest.TestCase):
    def test_pause_connect(self):
        s = Sandbox.create(timeout=300, metadata={'k': 'v'})
        try:
            s.pause()
            self.assertFalse(s.is_running())
            c = Sandbox.connect(s.sandbox_id)
            self.assertEqual(c.commands.run('echo 1').stdout, '1\n')
            self.assertEqual(c.get_info().metadata, {'k': 'v'})
        finally:
            self.assertTrue(s.kill())
        self.assertFalse(s.kill())
        with self.assertRaises(NotFoundException):
            Sandbox.connect(s.sandbox_id)

    def test_list(self):
        tag = str(time.time())
        s = Sandbox.create(metadata={'tag': tag})
        try:
            p = Sandbox.list(query=SandboxQuery(metadata={'tag': tag}))
            self.assertEqual([x.sandbox_id for x in p.next_items()],
                [s.sandbox_id])
        finally:
            s.kill()

    def test_unknown_template(self):
        with self.assertRaises(SandboxException):
            Sandbox.create('no-such')

    def test_killed_in_the_middle(self):
        s = Sandbox.create()
        h = s.commands.run('sleep 60', background=True)
        s.kill()
        with self.assertRaises((TimeoutException, SandboxException)):
            h.wait()


class Async(unittest.IsolatedAsyncioTestCase):
    async def test_all(self):
        s = await AsyncSandbox.create(timeout=300)
        try:
            r = await asyncio.gather(*[s.commands.run(f'echo {i}')
                for i in range(20)])
            self.assertEqual([x.stdout for x in r], [f'{i}\n' for i in
                range(20)])
            await s.files.write('/tmp/a', 'x')
            self.assertEqual(await s.files.read('/tmp/a'), 'x')
            out = []
            t = await s.pty.create(size=PtySize(rows=24, cols=80),
                on_data=lambda d: out.append(d))
            await s.pty.send_stdin(t.pid, b'echo $((1+1))x\n')
            for _ in range(50):
                if b'2x' in b''.join(out):
                    break
                await asyncio.sleep(0.1)
            self.assertIn(b'2x', b''.join(out))
            await s.pty.kill(t.pid)
        finally:
            await s.kill()


unittest.main(verbosity=2)
