# flake8: noqa
# ruff: noqa
"""lanesim: run a *real* Numba CUDA kernel's Python source lane by lane, record every global/shared access,
and group accesses into warp-level requests.  No NUMBA_ENABLE_CUDASIM, no GPU, coexists with cuda.compile."""

import ast, collections, inspect, linecache, re, sys, textwrap, types as T
import numpy as np
from greenlet import greenlet, getcurrent
from numba import types as nbt
from convlab.gpu._cuda import cuda as real_cuda
from convlab.gpu.ptx import Instruction
from numba.core.types import Type as NbType
from numba.cuda.dispatcher import CUDADispatcher


# ---- loop instrumentation: every for/while gets an iteration counter (line numbers are kept) -------------
class _Loops(ast.NodeTransformer):
    def _wrap(self, node):
        self.generic_visit(node)
        call = lambda n: ast.copy_location(ast.Expr(ast.Call(ast.Name(n, ast.Load()), [], [])), node)
        node.body.insert(0, call("__tick__"))
        return [call("__enter__"), node, call("__exit__")]

    visit_For = visit_While = _wrap

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        node.decorator_list = []
        node.returns = None
        return node


def _rebuild(fn, sim, cache):
    fn = getattr(fn, "py_func", fn)
    if fn in cache:
        return cache[fn]
    lines, start = inspect.getsourcelines(fn)
    tree = ast.parse(textwrap.dedent("".join(lines)))
    ast.increment_lineno(tree, start - 1)
    code = compile(ast.fix_missing_locations(_Loops().visit(tree)), inspect.getsourcefile(fn), "exec")
    g = dict(fn.__globals__)
    g.update(inspect.getclosurevars(fn).nonlocals)
    ns = {**g, **sim.env}
    out = {}
    exec(code, ns, out)
    new = out[fn.__name__]
    new = T.FunctionType(new.__code__, ns, fn.__name__, fn.__defaults__)
    cache[fn] = new
    for n in new.__code__.co_names:  # swap what the kernel names
        v = ns.get(n, None)
        if v is real_cuda:
            ns[n] = sim.cuda
        elif CUDADispatcher and isinstance(v, CUDADispatcher):
            ns[n] = sim.device(_rebuild(v, sim, cache))
        elif isinstance(v, NbType):
            ns[n] = _cast(v)
        elif isinstance(v, Instruction):
            ns[n] = sim.intrinsics[v.name]
    return new


class _Int:
    """int32/uint32/...: wraps exactly as the device does; also usable as a dtype"""

    __slots__ = ("m", "h", "dt")

    def __init__(s, bits, signed, name):
        s.m = (1 << bits) - 1
        s.h = (1 << (bits - 1)) if signed else 0
        s.dt = np.dtype(name)

    def __call__(s, v):
        return ((int(v) & s.m) ^ s.h) - s.h if s.h else int(v) & s.m


def _cast(t):
    if isinstance(t, nbt.Integer):
        return _Int(t.bitwidth, t.signed, str(t))
    return getattr(np, str(t), t)


def _np(dt):
    return dt.dt if isinstance(dt, _Int) else np.dtype(str(dt) if isinstance(dt, NbType) else dt)


class Arr:
    """traced array: plain ndarray + address space + base byte address"""

    __slots__ = ("a", "space", "name", "base", "sim")

    def __init__(s, a, space, name, base, sim):
        s.a, s.space, s.name, s.base, s.sim = a, space, name, base, sim

    shape = property(lambda s: s.a.shape)
    size = property(lambda s: s.a.size)
    ndim = property(lambda s: s.a.ndim)
    dtype = property(lambda s: s.a.dtype)

    def __len__(s):
        return len(s.a)

    def _off(s, i):
        i = i if isinstance(i, tuple) else (i,)
        for k, (j, n) in enumerate(zip(i, s.a.shape)):
            if not 0 <= j < n:
                raise IndexError(f"{s.name}: index {i} out of bounds {s.a.shape} thread {s.sim.cur.tid}")
        return s.base + sum(int(j) * st for j, st in zip(i, s.a.strides))

    def __getitem__(s, i):
        v = s.a[i]
        if isinstance(v, np.ndarray):
            return Arr(
                v,
                s.space,
                s.name,
                s.base + (v.__array_interface__["data"][0] - s.a.__array_interface__["data"][0]),
                s.sim,
            )
        if s.space != "local":
            s.sim.rec("ld", s, s._off(i), s.a.itemsize)
        return v if v.dtype.kind in "fc" else v.item()

    def __setitem__(s, i, v):
        if s.space != "local":
            s.sim.rec("st", s, s._off(i), s.a.itemsize)
        s.a[i] = v

    # vector access used by the ldv4/stv4 stand-ins
    def vload(s, i, n):
        o = s._off(i)
        assert o % (n * s.a.itemsize) == 0, f"misaligned {n}-vector access {s.name}[{i}]"
        s.sim.rec("ld", s, o, n * s.a.itemsize, 2)
        k = (o - s.base) // s.a.itemsize
        return tuple(s.a.reshape(-1)[k : k + n])

    def vstore(s, i, *v):
        o = s._off(i)
        assert o % (len(v) * s.a.itemsize) == 0, f"misaligned vector store {s.name}[{i}]"
        s.sim.rec("st", s, o, len(v) * s.a.itemsize, 2)
        k = (o - s.base) // s.a.itemsize
        s.a.reshape(-1)[k : k + len(v)] = v


class _Dim:
    def __init__(s, x, y, z):
        s.x, s.y, s.z = x, y, z


class Lane:
    pass


_pos = {}


def site_of(f):
    k = (f.f_code, f.f_lasti)
    if k not in _pos:
        p = list(f.f_code.co_positions())[f.f_lasti // 2]
        _pos[k] = (f.f_code.co_filename, p[0], p[2], p[3])
    return _pos[k]


class Race(Exception):
    pass


class LaneSim:
    def __init__(
        self, kernel, grid, block, trace=True, blocks=None, check_races=True, names=None, extra=None
    ):
        tup = lambda v: (tuple(v) + (1, 1))[:3] if isinstance(v, (tuple, list)) else (v, 1, 1)
        self.grid, self.block, self.trace, self.blocks, self.check = (
            tup(grid),
            tup(block),
            trace,
            blocks,
            check_races,
        )
        self.records = collections.defaultdict(
            list
        )  # (kind,space,name,site,instance,block,warp) -> [(lane,addr,size)]
        self.races = collections.Counter()
        self.warn = collections.Counter()
        self.cur = None
        self.nacc = 0
        self.env = {"__tick__": self._tick, "__enter__": self._enter, "__exit__": self._exit}
        self.intrinsics = {
            "load4": lambda a, i: a.vload(i, 4),
            "store4": lambda a, i, *v: a.vstore(i, *v),
            **tc_extra([self]),
            **(extra or {}),
        }
        self.cuda = self._fake_cuda()
        self.kernel = kernel
        self.fn = _rebuild(kernel, self, {})
        self.kcode = self.fn.__code__

    # -- loop stack
    def _enter(self):
        self.cur.loops.append(0)

    def _tick(self):
        self.cur.loops[-1] += 1

    def _exit(self):
        self.cur.loops.pop()

    def device(self, f):
        def call(*a):
            l = self.cur
            d = len(l.loops)
            try:
                return f(*a)
            finally:
                del l.loops[d:]

        return call

    # -- one access
    def rec(self, kind, arr, addr, size, depth=1):
        self.nacc += 1
        L = self.cur
        race = self.check and arr.space == "shared"
        if not (self.tracing or race):
            return
        f = sys._getframe(depth + 1)
        chain = ()
        site = site_of(f)
        if race:
            self._race(kind, arr, addr, size, site)
        if not self.tracing:
            return
        g = f
        while g.f_code is not self.kcode:
            g = g.f_back
            if g.f_code.co_filename != __file__:
                chain += (site_of(g),)
        key = (chain, tuple(L.loops))
        n = L.seen.get((site, key), 0)
        L.seen[(site, key)] = n + 1
        self.records[(kind, arr.space, arr.name, site, (key, n), self.bid, L.warp)].append(
            (L.lane, addr, size)
        )

    def _race(self, kind, arr, addr, size, site):
        tid = self.cur.tid
        for w in range(addr // 4, (addr + size + 3) // 4):
            k = (arr.name, w)
            e = self.sh.get(k)
            if e is None or e[0] != self.epoch:
                e = self.sh[k] = [self.epoch, None, set()]
            if kind == "st":
                if (e[1] not in (None, tid)) or (e[2] - {tid}):
                    self.races[(arr.name, "write", site)] += 1
                e[1] = tid
            else:
                if e[1] not in (None, tid):
                    self.races[(arr.name, "read", site)] += 1
                e[2].add(tid)

    # -- the kernel's view of `cuda`
    def _fake_cuda(self):
        S = self
        C = T.SimpleNamespace()

        class Cuda:
            threadIdx = property(lambda s: S.cur.tidx)
            blockIdx = property(lambda s: S.bidx)
            laneid = property(lambda s: S.cur.lane)
            blockDim = _Dim(*S.block)
            gridDim = _Dim(*S.grid)
            warpsize = 32

            def grid(s, n):
                v = [
                    b * d + t
                    for b, d, t in zip(
                        (S.bidx.x, S.bidx.y, S.bidx.z), S.block, (S.cur.tidx.x, S.cur.tidx.y, S.cur.tidx.z)
                    )
                ]
                return v[0] if n == 1 else tuple(v[:n])

            def gridsize(s, n):
                v = [a * b for a, b in zip(S.grid, S.block)]
                return v[0] if n == 1 else tuple(v[:n])

            def syncthreads(s):
                S.cur.wait = ("block", site_of(sys._getframe(1))[1])
                S.hub.switch()

            def syncwarp(s, mask=0xFFFFFFFF):
                S._warp(None)

            def _x(s, v, src):
                vals = S._warp(v)
                return vals.get(src, v)

            def shfl_sync(s, m, v, l):
                return s._x(v, l)

            def shfl_down_sync(s, m, v, d):
                return s._x(v, S.cur.lane + d)

            def shfl_up_sync(s, m, v, d):
                return s._x(v, S.cur.lane - d)

            def shfl_xor_sync(s, m, v, d):
                return s._x(v, S.cur.lane ^ d)

            def ballot_sync(s, m, p):
                return sum(1 << l for l, q in S._warp(bool(p)).items() if q)

            def fma(s, a, b, c):
                return type(c)(np.float64(a) * np.float64(b) + np.float64(c))

            class shared:
                @staticmethod
                def array(shape, dtype, alignment=None):
                    k = site_of(sys._getframe(1))  # keyed by call site, column-exact
                    if shape == 0 or k not in S.shared:
                        dt = _np(dtype)
                        if shape == 0:
                            raise NotImplementedError("dynamic shared: not in this prototype")
                        m = re.search(r"(\w+)\s*=\s*\w+\.shared", linecache.getline(k[0], k[1]))
                        nm = m[1] if m else f"smem@{k[1]}"
                        a = np.full(shape, np.nan if dt.kind == "f" else 0, dt)
                        S.smem_top = -(-S.smem_top // 16) * 16
                        S.shared[k] = Arr(a, "shared", nm, S.smem_top, S)
                        S.smem_top += a.nbytes
                    return S.shared[k]

            class local:
                @staticmethod
                def array(shape, dtype, alignment=None):
                    return Arr(
                        np.full(shape, np.nan if _np(dtype).kind == "f" else 0, _np(dtype)),
                        "local",
                        "local",
                        0,
                        S,
                    )

            class const:
                @staticmethod
                def array_like(a):
                    return a

            class atomic:
                @staticmethod
                def add(a, i, v):
                    o = a[i]
                    a[i] = o + v
                    return o

        return Cuda()

    def _warp(self, v):
        L = self.cur
        L.wait = ("warp", None)
        L.post = v
        self.hub.switch()
        return L.got

    # -- run
    def __call__(self, *args):
        names = list(inspect.signature(getattr(self.kernel, "py_func", self.kernel)).parameters)
        base = 1 << 20
        A = []
        for n, a in zip(names, args):
            if isinstance(a, np.ndarray):
                A.append(Arr(a, "global", n, base, self))
                base += -(-a.nbytes // 512) * 512 + 512
            else:
                A.append(int(a) if isinstance(a, (int, np.integer)) else a)
        self.hub = getcurrent()
        old = np.seterr(over="ignore", invalid="ignore")
        for bz in range(self.grid[2]):
            for by in range(self.grid[1]):
                for bx in range(self.grid[0]):
                    self.bid = (bx, by, bz)
                    self.bidx = _Dim(bx, by, bz)
                    self.tracing = self.trace and (self.blocks is None or self.bid in self.blocks)
                    self._block(A)
        np.seterr(**old)
        return self

    def _block(self, A):
        self.shared = {}
        self.smem_top = 0
        self.sh = {}
        self.epoch = 0
        lanes = []
        X, Y, Z = self.block
        for z in range(Z):
            for y in range(Y):
                for x in range(X):
                    L = Lane()
                    L.tid = x + X * (y + Y * z)
                    L.warp, L.lane = divmod(L.tid, 32)
                    L.tidx = _Dim(x, y, z)
                    L.loops = []
                    L.seen = {}
                    L.wait = None
                    L.g = greenlet(lambda: self.fn(*A))
                    lanes.append(L)
        live = lanes
        self._prev = len(lanes)
        while live:
            for L in live:
                if L.wait is None:
                    self.cur = L
                    L.g.switch()
            dead = [L for L in live if L.g.dead]
            live = [L for L in live if not L.g.dead]
            ws = [L for L in live if L.wait[0] == "warp"]
            if ws:  # warp-level exchange
                for w in {L.warp for L in ws}:
                    g = [L for L in live if L.warp == w]
                    if all(L.wait[0] == "warp" for L in g):
                        vals = {L.lane: L.post for L in g}
                        for L in g:
                            L.got = vals
                            L.wait = None
                    else:
                        raise RuntimeError(
                            "warp-level divergence: some lanes at shfl/syncwarp, others at syncthreads"
                        )
                continue
            if live:
                if dead or len(live) < self._prev:
                    self.warn[
                        f"line {live[0].wait[1]}: {len(lanes) - len(live)} threads already returned at this syncthreads"
                    ] += 1
                if len({L.wait[1] for L in live}) > 1:
                    self.warn[
                        f"lanes wait at different syncthreads lines {sorted({L.wait[1] for L in live})}"
                    ] += 1
                for L in live:
                    L.wait = None
                self.epoch += 1

    # -- analysis
    def sites(self):
        agg = {}
        for (kind, space, name, site, inst, bid, warp), acc in self.records.items():
            k = (kind, space, name, site)
            d = agg.setdefault(k, dict(req=0, lanes=0, bytes=0, sectors=0, ideal=0, waves=0, wideal=0))
            d["req"] += 1
            d["lanes"] += len(acc)
            if space == "global":
                sec = {b for _, a, s in acc for b in range(a // 32, (a + s - 1) // 32 + 1)}
                uniq = len({b for _, a, s in acc for b in range(a // 4, (a + s) // 4)}) * 4
                d["sectors"] += len(sec)
                d["bytes"] += uniq
                d["ideal"] += -(-uniq // 32)
            else:
                w, i = wavefronts(acc)
                d["waves"] += w
                d["wideal"] += i
        out = []
        for (kind, space, name, site), d in agg.items():
            fn, ln, c0, c1 = site
            out.append(
                dict(kind=kind, space=space, name=name, line=ln, src=linecache.getline(fn, ln).strip(), **d)
            )
        return sorted(out, key=lambda d: d["line"])

    def report(self):
        print(
            f"{'line':>5} {'op':9} {'array':8} {'requests':>8} {'lanes/req':>9} {'sect/req':>8} {'ideal':>6} {'waves/req':>9} {'ideal':>6}  source"
        )
        for d in self.sites():
            g = d["space"] == "global"
            r = d["req"]
            print(
                f"{d['line']:5d} {d['kind']}.{d['space']:6} {d['name'][:8]:8} {r:8d} {d['lanes'] / r:9.1f} "
                + (
                    f"{d['sectors'] / r:8.2f} {d['ideal'] / r:6.2f} {'':9} {'':6}"
                    if g
                    else f"{'':8} {'':6} {d['waves'] / r:9.2f} {d['wideal'] / r:6.2f}"
                )
                + "  "
                + d["src"][:70]
            )
        if self.races:
            print("RACES:", dict(self.races))
        if self.warn:
            print("WARN:", dict(self.warn))


def wavefronts(acc):
    """shared-memory passes for one warp request: 32 banks x 4 B; 8-B accesses go by half-warps, 16-B by quarter-warps"""
    size = acc[0][2]
    per = {4: 32, 8: 16, 16: 8}.get(size, 32)
    tot = 0
    groups = collections.defaultdict(list)
    for lane, a, s in acc:
        groups[lane // per].append((a, s))
    for g in groups.values():
        banks = collections.defaultdict(set)
        for a, s in g:
            for w in range(a // 4, (a + max(s, 4)) // 4):
                banks[w % 32].add(w)
        tot += max(len(v) for v in banks.values())
    return tot, len(groups)


# ---- stand-ins for the tensor-core / async-copy intrinsics (functional + traced) -----------------------------
def tc_extra(holder):
    """holder: list that will contain the LaneSim; returns the intrinsics table"""
    S = lambda: holder[0]

    def cp16(sm, si, gm, gi, ok=True):
        v = (
            gm.vload(gi, 4) if ok else (0,) * 4
        )  # vload records at depth 2 from here: same frame layout as user code
        S().cur.__dict__.setdefault("q", []).append((sm, si, v))

    def commit():
        L = S().cur
        L.__dict__.setdefault("groups", []).append(L.__dict__.pop("q", []))

    def wait(n):
        L = S().cur
        g = L.__dict__.setdefault("groups", [])
        while len(g) > n:
            for sm, si, v in g.pop(0):
                sm.vstore(si, *v)

    def ldm(sm, si):
        mine = [int(x) for x in sm.vload(si, 4)]
        rows = S()._warp(mine)
        l = S().cur.lane
        return tuple(rows[8 * j + l // 4][l % 4] for j in range(4))

    def halves(w):
        return np.array(w, np.uint32).view(np.float16).astype(np.float32)

    def mma(a0, a1, a2, a3, b0, b1, c0, c1, c2, c3):
        vals = S()._warp((a0, a1, a2, a3, b0, b1))
        l = S().cur.lane
        g, t = divmod(l, 4)
        if "mm" not in vals:  # first lane to resume computes the 16x8x16 product for the warp
            A = np.zeros((16, 16), np.float32)
            B = np.zeros((16, 8), np.float32)
            for L, (p0, p1, p2, p3, q0, q1) in list(vals.items()):
                G, T_ = divmod(L, 4)
                A[G, 2 * T_ : 2 * T_ + 2] = halves([p0])
                A[G + 8, 2 * T_ : 2 * T_ + 2] = halves([p1])
                A[G, 2 * T_ + 8 : 2 * T_ + 10] = halves([p2])
                A[G + 8, 2 * T_ + 8 : 2 * T_ + 10] = halves([p3])
                B[2 * T_ : 2 * T_ + 2, G] = halves([q0])
                B[2 * T_ + 8 : 2 * T_ + 10, G] = halves([q1])
            vals["mm"] = A @ B
        D = vals["mm"]
        return (c0 + D[g, 2 * t], c1 + D[g, 2 * t + 1], c2 + D[g + 8, 2 * t], c3 + D[g + 8, 2 * t + 1])

    def mma_tf32(a0, a1, a2, a3, b0, b1, c0, c1, c2, c3):
        vals = S()._warp((a0, a1, a2, a3, b0, b1))
        l = S().cur.lane
        g, t = divmod(l, 4)
        if "mm" not in vals:
            A = np.zeros((16, 8), np.float32)
            B = np.zeros((8, 8), np.float32)
            for L, six in list(vals.items()):
                G, T_ = divmod(L, 4)
                A[G, T_], A[G + 8, T_], A[G, T_ + 4], A[G + 8, T_ + 4], B[T_, G], B[T_ + 4, G] = (
                    np.array(six, np.uint32) & np.uint32(0xFFFFE000)
                ).view(np.float32)
            vals["mm"] = A @ B
        D = vals["mm"]
        return (c0 + D[g, 2 * t], c1 + D[g, 2 * t + 1], c2 + D[g + 8, 2 * t], c3 + D[g + 8, 2 * t + 1])

    def half2(low, high):
        return int(np.array([low, high], np.float32).astype(np.float16).view(np.uint32)[0])

    def tf32(value):
        from convlab.algorithms.tensor_core import rounded

        return int(rounded(np.array([value], np.float32), "tf32").view(np.uint32)[0])

    return dict(
        mma_m16n8k8_tf32=mma_tf32,
        half2=half2,
        tf32=tf32,
        cp_async16_zfill=cp16,
        cp_async16=cp16,
        cp_async_commit=commit,
        cp_async_wait=wait,
        ldmatrix_x4=ldm,
        mma_m16n8k16_f16=mma,
    )
