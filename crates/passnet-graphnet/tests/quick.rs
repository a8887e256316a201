//! The quick reader of `model.py` with text that it barely knows: it returns the same graph as the parser, or nothing.

#[path = "support/agreement.rs"]
mod agreement;

use agreement::reads_quickly;

/// A `forward` of `x` and `w` with the given body.
fn forward(body: &str) -> String {
    let body = body.replace('\n', "\n        ");
    format!("import torch\n\nclass G(torch.nn.Module):\n    def forward(self, x, w: torch.Tensor):\n        {body}\n")
}

/// Returns the parts of a list below. Three blanks separate them; escapes are not interpreted.
fn parts(list: &str) -> impl Iterator<Item = String> {
    let escapes = [
        ("\\n", "\n"),
        ("\\t", "\t"),
        ("\\r", "\r"),
        ("\\f", "\u{c}"),
        ("\\0", "\0"),
        ("\\u", "\u{feff}"),
        ("\\s", "    "),
    ];
    let parts = list.lines().flat_map(|line| line.split("   ")).filter(|part| !part.is_empty());
    parts.map(move |part| escapes.iter().fold(part.to_owned(), |part, (escape, char)| part.replace(escape, char)))
}

/// Bodies as `torch.fx` and formatters print them.
const PRINTED: &str = r#"
return ()   return (x,);   return [x, (w, None)]  # both   return torch.cat([x, w], -1).T.mT[0]   return x[()]
return (torch.relu(\n\n# why\n  x\n), )   # first\n\ny = x + -1;  x = None\nreturn (y - 1.5e-05)
(\n  y\n) = z = (\n x\n)\n(y) = z = (None)\nreturn (x,)   y = z = torch.relu(x)\nreturn y @ z
x += w\ny = x\nx = None\nreturn y   x **= -w\n(y) = (x)\nreturn y
x[0, ..., :, 1:, :w:2] = torch.relu(w)\nsetitem = x;  setitem = None\nreturn x
x[(slice(None, -1, None), slice(2), Ellipsis)] = None\nreturn x   y = getattr(x, "real")\nreturn y != w
y = x.to(torch.device("cuda:1"), device(type='cpu', index=0), torch.float32, layout=torch.strided)\nreturn y
y = torch.clamp(x, -inf, float('inf'), nan=nan)\nreturn y   z = operator.iadd(x, builtins.getattr(x, 'T'))\nreturn z
y = ~x\nz = - x.abs() << (w // 2)\nreturn (y, z, +w)   y = torch.add(input=x, other=w == 1,)\nreturn (y <= 0)
y = x.split(1, dim=-1)[0].sum((0, 1), keepdim=True)\nreturn y
"#;

/// Expressions, right and wrong.
const EXPRESSIONS: &str = r#"
-1 ** 2   (-1) ** 2   -x ** 2   2 ** -1   - -1   -(1)   +1   -inf   -(inf)   -inf.x   --x   ~-1   not x   x + w + x   x + w * 2
x < w < x   x if w else x   x and w   x in w   x is None   x -> w   x <> w   x := w   x =+ w   1_000   0x10   007   00   0.0   07.5
1.   .5   1.real   1..real   1e5   1e   1e+   1j   1if x else 2   9223372036854775807   -9223372036854775808   9223372036854775808
1e999   'a' 'b'   ''      '\n'   f'x'   r'x'   'é'   "it's"   'a	b'   é   x.é   x.lambda   x.lambda()   torch.lambda
torch.lambda(x)   torch.nn.   torch..nn   torch.1   torch   torch(x)   torch.relu (x)   torch . relu(x)   (torch.nn).relu(x)
(torch.relu)(x)   torch.relu(x)(w)   torch.device   torch.device(x)   torch.device()   device('cuda:x')   device('cuda:0', 1)
device('cuda', True)   device(type='cuda', 0)   device('cuda', type='cuda')   device('in')   device   device('cuda', 4294967296)
operator.add   operator.foo(x)   operator.add(x)   builtins.len(x)   self.x   self   x . T   x .T   x
.T   (x
.T)   x. T
x[0]   x[]   x[0](w)   x[0:]   x[:]   x[::]   x[:::]   x[1:2, *w]   x[(1, 2)]   x[1,]   x[a:=1]   None[0]   None.x   'a'.x   1 .x
torch.strided.x   torch.strided[0]   ()   (x)   (x,)   (,)   [,]   [x for x in w]   (x for x in w)   torch.f(x for x in w)
torch.f(*x)   torch.f(**x)   torch.f(a=1, x)   torch.f(a=1, a=2)   torch.f((a)=1)   torch.f(None=1)   torch.f(lambda=1)
torch.f(a==1)   torch.f(x==1)   torch.f(a = 1)   torch.f(x,)   torch.f(,)   torch.f(x,,)   torch.f(x w)   torch.f(x; w)   torch.f(x
torch.f(x]   torch.f(x))   slice(1)   slice()   slice(1, 2, 3, 4)   slice(a=1)   float('nan',)   float(1)   float('infinity')
getattr(x)   getattr(x, 'in')   getattr(x, 'T', None)   getattr(1, 'T')   ...   ....x   . . .   None   (None)   True   yield x
await x   lambda: x   x \
 + w   x #   x # 
 y = w   	x   x	   x   x;;   x;   x; y = w   x, w   *x   x.view(1).T + w.T
"#;

/// Statements around an expression `@`.
const STATEMENTS: &str = "
y = @   y = z = @   y = (@)   y = torch.cat(@)   y = x.to(1, a=@)   x += @   x[@] = w   x[0] = @   @ = x   (@) = None   @
";

const RETURNS: &str = "
return (@, w)   return [@]   return (@)   return @, w   return (@)[0]   return (@,)   return ((@, w))   return @   return@
";

const LINES: &str = r#"
x += 1
y = x   x += 1
y = (x)  # z   x += 1
y = z = x   x += 1
y = x + 1   x += 1; torch = x   x[0] = 1
x = w
y = x
x[0] = 1
y = x = x   x[0] += 1   x[0] = y = 1   y = x[0] = w   y += x   y: int = x   y, z = x   (y, z) = x   [y] = x   del x
y = x

  
# c
      # d   y = x
  y = x   pass   if x: pass   match = x   x = w;match = w   match[0] = x   type = x   type y = x   torch = None
self = x   None = x   True = None   __debug__ = x   device = x
y = device('cpu')   y = z   'doc'   y = None
z = torch.relu(y)
import os   return x
return w   y = x == w == x   y == x   y = = x   y =   = x   y = torch.relu(x)
y = torch.relu(y)
y = y.relu()
"#;

#[test]
fn what_printers_print_is_read() {
    for body in parts(PRINTED) {
        assert!(reads_quickly(&forward(&body)), "{body}");
    }
}

#[test]
fn statements_and_expressions_mean_what_the_parser_says() {
    let around = |forms: &'static str, end: &'static str| {
        parts(EXPRESSIONS).flat_map(move |of| parts(forms).map(move |form| form.replace('@', &of) + end))
    };
    let lines = parts(LINES).map(|line| {
        line + "
return (x,)"
    });
    let bodies = around(
        STATEMENTS,
        "
return (x,)",
    )
    .chain(around(RETURNS, ""))
    .chain(lines);
    let (read, left): (Vec<_>, Vec<_>) = bodies.partition(|body| reads_quickly(&forward(body)));
    assert!(read.len() > 100 && left.len() > 100, "{} are read, {} are left", read.len(), left.len());
}

#[test]
fn heads_and_ends_mean_what_the_parser_says() {
    let whole = forward(
        "y = x
return y",
    );
    let changes = [
        (
            "import torch",
            r"import torch.nn   import torch as t   import lambda   import torch, os   import torch  # x\n",
        ),
        (
            "import torch",
            r"from torch import device   from . import x   from torch import *   from torch import in   x = 1",
        ),
        (
            "import torch",
            r"importtorch   'doc'   \uimport torch   \timport torch   import  torch\n\n# c\n \nimport os\n",
        ),
        (
            "class G",
            r"class  G   class lambda   @d\nclass G   class é   class G[T]   class G(torch.nn.Module):\n pass\nclass H",
        ),
        ("(torch.nn.Module)", r"()   (Module)   (torch.nn.Module, x)   (torch.nn.Module) "),
        ("    def", r"\sasync def   @d\n\sdef   def   \tdef   \s'doc'\n\sdef   \s\sdef   \n\n\sdef   #c\n\sdef"),
        ("forward(", r"backward(   forward (   forward(\n   forward[T]("),
        ("self, ", r"self,   self, , .  self   self, /,   this,   self=1,   *self,   é, "),
        (
            "x,",
            r"x=1,   x, x,   *x,   *, x,   lambda,   é,   inf,   x: 'f32[1]',   x: (1),   x : torch.SymInt ,   x: torch.in,",
        ),
        ("x,", r"x: torch.,   x: int,   x # one\n ,   x: 'a' 'b',   x: torch.Tensor = 1,   x: torch.Tensor[1],   x y,"),
        ("Tensor):", r"Tensor,):   Tensor,,):   Tensor) -> x:   Tensor) :   Tensor):  # c\n   Tensor): \n\n   Tensor"),
        ("        y =", r"\sy =   y =   \ty =   \n\n\s\sy =   # c\n\s\sy =   \s\s'doc'\n\s\sy =   \s\s y ="),
        (
            "return y\n",
            r"return y   return y\n\n# end   return y\n\n  x = 1   return y\nimport os\n   return\n   returny\n",
        ),
        ("return y\n", r"return y \0   return y # \0   y = x\n   return y\n\s\s#   return y\n\s\s\t   (return) y\n"),
        ("\n", r"\r\n   \n\n   \n \n   \r"),
    ];
    for (old, new) in changes {
        assert!(whole.contains(old), "{old}");
        parts(new).for_each(|new| _ = reads_quickly(&whole.replace(old, &new)));
    }
    assert!(reads_quickly(&whole));
}
