/* tests/unit/test_source.c: the line of a program that adds to a variable. */
#include "sample/source.h"

#include "unit.h"

static int find(const char *text, const char *name, const char *scope)
{
    struct source_query q = {.name = name, .scope = scope, .only_there = scope != NULL};
    return source_find_addition(text, strlen(text), &q);
}

static int find_attribute(const char *text, const char *name, const char *scope)
{
    struct source_query q = {.name = name, .is_attribute = true, .scope = scope};
    return source_find_addition(text, strlen(text), &q);
}

TEST(source__the_names_of_a_path)
{
    struct source_name names[SOURCE_NAMES];
    CHECK(source_names("trainer.callbacks[2].history", names) == 3);
    CHECK_TEXT(names[0].text, "trainer");
    CHECK_TEXT(names[1].text, "callbacks");
    CHECK_TEXT(names[2].text, "history");
    CHECK(!names[0].is_attribute && names[1].is_attribute && names[2].is_attribute);
    CHECK(source_names("self.cache['a.b]'][3]", names) == 2);
    CHECK_TEXT(names[1].text, "cache");
    CHECK(source_names("last.before*.data", names) == 3);
    CHECK_TEXT(names[2].text, "data");
    CHECK(source_names("preview.(_tee)", names) == 1);
    CHECK(source_names("", names) == 0 && source_names("[3]", names) == 0);
    CHECK(source_names("(unnamed)", names) == 0 && source_names("a['", names) == 1);
}

TEST(source__calls_that_add)
{
    CHECK(find("h = []\nfor x in y:\n    h.append(x)\n", "h", NULL) == 3);
    CHECK(find("h.extend(y)", "h", NULL) == 1);
    CHECK(find("h . add (y)", "h", NULL) == 1);
    CHECK(find("h.insert(0, y)", "h", NULL) == 1);
    CHECK(find("h.update(a=1)", "h", NULL) == 1);
    CHECK(find("h.setdefault(k, []).append(1)", "h", NULL) == 1);
    CHECK(find("h[key].append(1)", "h", NULL) == 1);
    CHECK(find("h.appendix(1)\nh.pop()\nh.append\n", "h", NULL) == 0);
}

TEST(source__a_list_gets_no_longer_where_an_item_is_replaced)
{
    static const char pool[] = "h[i] = x.clone()\nh[i] += 1\nh[:] = []\nh.append(x)\n";
    struct source_query list = {.name = "h", .is_list = true}, dict = {.name = "h"};
    CHECK(source_find_addition(pool, strlen(pool), &list) == 4);
    CHECK(source_find_addition(pool, strlen(pool), &dict) == 1);
    static const char slice[] = "h[k['a:b']] = x\nh[len(h):] = [x]\n";
    CHECK(source_find_addition(slice, strlen(slice), &list) == 2);
    static const char losses[] = "h[k] = [x]\nh[k].append(x)\n", sum[] = "h[k] += [x]\n";
    struct source_query item = {.name = "h", .is_list = true, .is_item = true};
    struct source_query inside = {.name = "h", .is_item = true};
    CHECK(source_find_addition(losses, strlen(losses), &inside) == 2);
    CHECK(source_find_addition(losses, strlen(losses), &item) == 2);
    CHECK(source_find_addition(sum, strlen(sum), &item) == 1);
}

TEST(source__functions_that_add_to_what_they_are_given)
{
    CHECK(find("h = []\nheapq.heappush(h, x)\n", "h", NULL) == 2);
    CHECK(find("bisect.insort(h[key], (a, b))", "h", NULL) == 1);
    CHECK(find("heappush(\n    h,\n    x)\n", "h", NULL) == 2);
    CHECK(find_attribute("heappush(self.h, x)", "h", NULL) == 1);
    CHECK(find("setattr(h, f'act_{step}', y)", "h", NULL) == 1);
    CHECK(find("heappush(other, h)\nheappop(h)\nheappush(h.items, x)\n", "h", NULL) == 0);
    CHECK(find("from heapq import heappush\nshow(h, x)\n", "h", NULL) == 0);
    CHECK(find("heappush(other, show(h, x))\n", "h", NULL) == 0);
    struct source_query log = {.name = "h", .key = "log"};
    static const char text[] = "heappush(h['q'], x)\nheappush(h['log'], x)\n";
    CHECK(source_find_addition(text, strlen(text), &log) == 2);
}

TEST(source__assignments_that_add)
{
    CHECK(find("h[k] = v", "h", NULL) == 1);
    CHECK(find("h[a[1]]['x]'] = v", "h", NULL) == 1);
    CHECK(find("h[k] == v", "h", NULL) == 0);
    CHECK(find("h += [x]", "h", NULL) == 1);
    CHECK(find("h |= {x}", "h", NULL) == 1);
    CHECK(find("total = 0\ntotal = total + loss\n", "total", NULL) == 2);
    CHECK(find("h = None\nh = torch.cat([h, x])\n", "h", NULL) == 2);
    CHECK(find("h = torch.cat(\n    [x,\n     h])\n", "h", NULL) == 1);
    CHECK(find("h = []\nx = h\n", "h", NULL) == 0);
    CHECK(find("h = other(x)\nh\n", "h", NULL) == 0);
    CHECK(find("if h == h + 1: pass", "h", NULL) == 0);
    CHECK(find("h[:] = [x]\nh.append(x)\n", "h", NULL) == 2);
    CHECK(find("h[:] = h + [x]\n", "h", NULL) == 1);
    CHECK(find("h = torch.cat([h, x.detach()])\n", "h", NULL) == 1);
    CHECK(find("h = [f(v) for v in h]\n", "h", NULL) == 1);
    CHECK(find_attribute("self.h = self.h.detach()\nself.h = f(self.h)\n", "h", NULL) == 2);
    CHECK(find_attribute("self.h = [v.detach() for v in self.h]\n", "h", NULL) == 0);
    CHECK(find("h = h.detach()\nh = tuple(v.detach() for v in h)\nh = cell(x, h)\n", "h", NULL) ==
          3);
}

TEST(source__other_names_are_other_variables)
{
    CHECK(find("xh.append(1)\nhx.append(2)\nh_.append(3)\nh.append(4)\n", "h", NULL) == 4);
    CHECK(find("self.h.append(1)\n", "h", NULL) == 0);
    CHECK(find_attribute("h.append(1)\nself.h.append(2)\n", "h", NULL) == 2);
    CHECK(find_attribute("self . h . append(2)\n", "h", NULL) == 1);
    CHECK(find_attribute("self.total = self.total + x\n", "total", NULL) == 1);
    CHECK(find("\xc3\xa4h.append(1)\nh.append(2)", "h", NULL) == 2);
}

TEST(source__strings_and_comments_are_no_code)
{
    CHECK(find("# h.append(1)\n'h.append(2)'\n\"\"\"\nh.append(4)\n\"\"\"\nh.append(6)\n", "h",
               NULL) == 6);
    CHECK(find("x = 'it\\'s h.append(1)'; h.append(2)\n", "h", NULL) == 1);
    CHECK(find("s = r'\\'\nh.append(2)\n", "h", NULL) == 2);
    CHECK(find("x = '''a'b\n'''\nh.append(3)", "h", NULL) == 3);
    CHECK(find("x = 'unfinished\nh.append(2)\n", "h", NULL) == 2);
    CHECK(find("h['#'] = 1", "h", NULL) == 1);
}

static const char twice[] = "h = []\n"
                            "def first():\n"
                            "    h = []\n"
                            "    if h:\n"
                            "\n"
                            "# not indented, and no end\n"
                            "        h.append(7)\n"
                            "def second(a,\n"
                            "b):\n"
                            "    '''\n"
                            "not indented either\n"
                            "    '''\n"
                            "    h.append(13)\n"
                            "h.append(14)\n"
                            "class C:\n"
                            "    async def first(self):\n"
                            "        h.append(17)\n";

TEST(source__in_the_function_that_is_meant)
{
    CHECK(find(twice, "h", NULL) == 7);
    CHECK(find(twice, "h", "first") == 7);
    CHECK(find(twice, "h", "second") == 13);
    CHECK(find(twice, "h", "third") == 0);
    struct source_query q = {.name = "h", .scope = "first", .only_there = true, .near = 17};
    CHECK(source_find_addition(twice, strlen(twice), &q) == 17);
    q.near = 4;
    CHECK(source_find_addition(twice, strlen(twice), &q) == 7);
    q = (struct source_query){.name = "h", .scope = "third"};
    CHECK(source_find_addition(twice, strlen(twice), &q) == 7);
}

TEST(source__an_attribute_is_not_made_of_a_variable_of_that_name)
{
    static const char text[] = "class Node:\n    def __init__(self, data):\n"
                               "        self.data = data\n    def add(self, x):\n"
                               "        self.data = cat(self.data, x)\n";
    CHECK(find_attribute(text, "data", "Node") == 5);
    CHECK(find("last = Step(first.last)\nlast = Step(last)\n", "last", NULL) == 2);
}

TEST(source__an_attribute_is_looked_for_in_its_class_first)
{
    const char *text = "def outside(c):\n    c.h.append(1)\n"
                       "class A:\n    def f(self):\n        self.h.append(1)\n"
                       "class B:\n    def f(self):\n        self.h[1] = 2\n";
    CHECK(find_attribute(text, "h", "B") == 8);
    CHECK(find_attribute(text, "h", "A") == 5);
    CHECK(find_attribute(text, "h", "D") == 2);
}

TEST(source__odd_texts_end)
{
    CHECK(find("", "h", NULL) == 0);
    CHECK(find("h", "h", "f") == 0);
    CHECK(find("h[", "h", NULL) == 0);
    CHECK(find("h = (((", "h", NULL) == 0);
    CHECK(find("\"\"\"", "h", NULL) == 0);
    CHECK(find("'\\", "h", NULL) == 0);
    CHECK(find("))))\nh.append(1)", "h", NULL) == 2);
    CHECK(find("def h(", "h", "h") == 0);
}

TEST(source__a_file_that_is_none_tells_nothing)
{
    char *text = NULL;
    size_t len = 0;
    CHECK(source_load("/nonexistent/file.py", &text, &len) < 0);
    CHECK(source_load("/dev/zero", &text, &len) < 0);
    CHECK(source_load("/tmp", &text, &len) < 0);
    CHECK(text == NULL && len == 0);
}

TEST(source__the_item_that_is_added_to)
{
    static const char text[] = "h = {}\nh['loss'].append(1)\nh[\"out\"].append(2)\nh[k] = 3\n";
    struct source_query q = {.name = "h", .key = "out"};
    char key[SOURCE_NAME_LENGTH];
    CHECK(source_find_addition(text, strlen(text), &q) == 3);
    q.key = "loss";
    CHECK(source_find_addition(text, strlen(text), &q) == 2);
    q.key = "lo";
    CHECK(source_find_addition(text, strlen(text), &q) == 0);
    CHECK(source_key("self.h[\"out\"][3]", key));
    CHECK_TEXT(key, "out");
    CHECK(!source_key("h[3]", key) && !source_key("h[...]", key) && !source_key("h", key));
}

TEST(source__a_module_has_the_name_of_its_file)
{
    char name[SOURCE_NAME_LENGTH];
    CHECK(source_module("/x/pkg/caches.py", name));
    CHECK_TEXT(name, "caches");
    CHECK(source_module("/x/caches/__init__.py", name));
    CHECK_TEXT(name, "caches");
    CHECK(source_module("caches.py", name));
    CHECK(source_module("/__init__.py", name));
    CHECK_TEXT(name, "__init__");
    CHECK(!source_module("", name) && !source_module(".py", name) && !source_module("<x>", name));
    CHECK(!source_module("/x/a-b/.py", name));
}

TEST(source__a_method_that_adds)
{
    static const char text[] = "net = Net()\nnet(x)\nnet.train()\nnet.layers[2].cuda()\n"
                               "net.layers[2].register_forward_hook(f)\nnet.add_module(n, m)\n";
    struct source_query q = {.name = "net", .by = SOURCE_METHOD};
    CHECK(source_find_addition(text, strlen(text), &q) == 5);
    q.by = SOURCE_BINDING;
    CHECK(source_find_addition(text, strlen(text), &q) == 1);
    CHECK(source_find_addition("f(net=1)\nnet == 2\n", 18, &q) == 0);
}

static int find_binding(const char *text)
{
    struct source_query q = {.name = "net", .by = SOURCE_BINDING};
    return source_find_addition(text, strlen(text), &q);
}

TEST(source__where_a_variable_begins)
{
    CHECK(find_binding("net(1)\na, net = both()\n") == 2);
    CHECK(find_binding("\nnet, a = both()\n") == 2);
    CHECK(find_binding("net = None\nnet = None_or()\n") == 2);
    CHECK(find_binding("with open(1) as f, made() as net:\n") == 1);
    CHECK(find_binding("assert net, a == 1\nfor net, a in x: pass\n") == 0);
    struct source_query q = {.name = "x", .scope = "f", .by = SOURCE_SCOPE};
    static const char text[] = "x = 1\ndef g(): pass\ndef f(a):\n    return x\n";
    CHECK(source_find_addition(text, strlen(text), &q) == 3);
}

TEST(source__another_name_for_it_adds_to_it)
{
    CHECK(find_attribute("buf = self.h\nbuf.append(x)\n", "h", NULL) == 2);
    CHECK(find_attribute("def f(self):\n    if x:\n        b = self.h  # mine\n\n    b += [x]\n"
                         "def g(b):\n    b.append(x)\n",
                         "h", NULL) == 5);
    CHECK(find_attribute("def f(self):\n    b = self.h\ndef g(b):\n    b.append(x)\n", "h", NULL) ==
          0);
    CHECK(find_attribute("m = p.h.setdefault(k, [])\ndef f():\n    m.append(x)\n", "h", NULL) == 1);
    CHECK(find_attribute("a, b = self.h, 1\nb.append(x)\n", "h", NULL) == 0);
    CHECK(find_attribute("for k, b in self.h.items():\n    b.append(x)\n", "h", NULL) == 2);
    CHECK(find_attribute("a = self.h\nb = a\nb.append(x)\n", "h", NULL) == 3);
    CHECK(find_attribute("b = show(self.h)\nb.append(x)\n", "h", NULL) == 0);
    CHECK(find_attribute("b = self.h.copy()\nb.append(x)\n", "h", NULL) == 0);
    CHECK(find_attribute("b = self.h + x\nb.append(x)\n", "h", NULL) == 0);
    CHECK(find_attribute("b = self.h\nself.h.append(x)\nb.append(x)\n", "h", NULL) == 2);
}

TEST(source__an_item_is_added_to_where_it_is_not_only_made)
{
    struct source_query q = {.name = "h", .is_item = true};
    static const char set[] = "m = h.setdefault(k, [])\nm.append(x)\n";
    static const char made[] = "h[k] = []\nh[k] = deque()\nh[k].append(x)\n";
    static const char only[] = "h[k] = {}\nh.setdefault(k, [])\n";
    CHECK(source_find_addition(set, strlen(set), &q) == 2);
    CHECK(source_find_addition(made, strlen(made), &q) == 3);
    CHECK(source_find_addition(only, strlen(only), &q) == 0);
    CHECK(find("h[k] = []\nh[k].append(x)\n", "h", NULL) == 1);
    CHECK(find("m = h.setdefault(k, [])\nm.append(x)\n", "h", NULL) == 1);
    q.key = "a";
    static const char keys[] = "m = h['b']\nm.append(x)\nn = h['a']\nn.append(x)\n";
    CHECK(source_find_addition(keys, strlen(keys), &q) == 4);
}

TEST(source__bytes_grow_when_they_are_detached_too)
{
    static const char text[] = "h = Parameter(cat([h.detach(), x]))\n";
    struct source_query q = {.name = "h", .is_size = true};
    CHECK(source_find_addition(text, strlen(text), &q) == 1);
    CHECK(find(text, "h", NULL) == 0);
    static const char replaced[] = "h[k] = x\nh[k] = h[k] + x\n";
    CHECK(source_find_addition(replaced, strlen(replaced), &q) == 2);
    CHECK(find(replaced, "h", NULL) == 1);
}

TEST(source__calls_of_a_class)
{
    struct source_query q = {.name = "finalize", .by = SOURCE_CALL};
    static const char text[] =
        "import weakref\nfinalize\nf = weakref.finalize(x, g)\nfinalize(y)\n";
    CHECK(source_find_addition(text, strlen(text), &q) == 4);
    q.is_attribute = true;
    CHECK(source_find_addition(text, strlen(text), &q) == 3);
}
