/* tests/unit/test_symbol_name.c: names of functions as their authors write them. */
#include "symbol/name.h"

#include "unit.h"

#include <stdlib.h>

#define CHECK_TIDY(demangled, want)                                                                \
    do {                                                                                           \
        struct buf tidy = BUF_INIT;                                                                \
        name_add_tidy(&tidy, demangled);                                                           \
        CHECK_TEXT(buf_text(&tidy), want);                                                         \
        buf_release(&tidy);                                                                        \
    } while (0)

#define CHECK_LINKED(linked, want)                                                                 \
    do {                                                                                           \
        struct buf tidy = BUF_INIT;                                                                \
        name_add_linked(&tidy, linked);                                                            \
        CHECK_TEXT(buf_text(&tidy), want);                                                         \
        buf_release(&tidy);                                                                        \
    } while (0)

TEST(name__loses_what_compiler_and_linker_put_behind_it)
{
    CHECK_LINKED("train", "train");
    CHECK_LINKED("train.cold", "train");
    CHECK_LINKED("train.part.0.cold", "train");
    CHECK_LINKED("train.constprop.12.isra.3", "train");
    CHECK_LINKED("malloc@@GLIBC_2.2.5", "malloc");
    CHECK_LINKED("main.load", "main.load"); /* other languages have dots of their own */
    CHECK_LINKED(".cold", ".cold");
    CHECK(name_is_mangled("_ZN2at4tensE") && !name_is_mangled("malloc"));
}

TEST(name__has_no_arguments_and_no_return_type)
{
    CHECK_TIDY("at::native::conv2d(at::Tensor const&, long)", "at::native::conv2d");
    CHECK_TIDY("void fill<float>(float*, unsigned long)", "fill<float>");
    CHECK_TIDY("unsigned long count<int>(int)", "count<int>");
    CHECK_TIDY("std::enable_if<(1)>(2), int>::type pick<int>(int) const", "pick<int>");
    CHECK_TIDY("decltype (a(b) < c) call<int>(int)", "call<int>");
    CHECK_TIDY("Shop::size() const &", "Shop::size");
    CHECK_TIDY("non-virtual thunk to Shop::close()", "Shop::close");
    CHECK_TIDY("load(int) [clone .cold]", "load");
    CHECK_TIDY("int (*choose(char))(int)", "choose");
    CHECK_TIDY("train<int>(int) requires Number<int>", "train<int>");
    CHECK_TIDY("main", "main");
}

TEST(name__has_no_namespaces_without_a_name)
{
    CHECK_TIDY("void at::(anonymous namespace)::fill<(anonymous namespace)::T>(int)",
               "at::fill<T>");
    CHECK_TIDY("std::__cxx11::list<int, std::allocator<int> >::push_back(int&&)",
               "std::list<int>::push_back");
    CHECK_TIDY("text[abi:cxx11](int)", "text");
    CHECK_TIDY("std::__1::vector<int>::clear()", "std::vector<int>::clear");
}

TEST(name__has_no_default_template_arguments)
{
    CHECK_TIDY("std::vector<float, std::allocator<float> >::push_back(float const&)",
               "std::vector<float>::push_back");
    CHECK_TIDY("std::map<int, std::vector<char, std::allocator<char> >, std::less<int>, "
               "std::allocator<std::pair<int const, char> > >::at(int)",
               "std::map<int, std::vector<char>>::at");
    CHECK_TIDY("f(std::allocator<int>)", "f");
    CHECK_TIDY("std::allocator<int>::allocate(unsigned long)", "std::allocator<int>::allocate");
    CHECK_TIDY("g<std::__cxx11::basic_string<char, std::char_traits<char>, "
               "std::allocator<char> > >(int)",
               "g<std::string>");
}

TEST(name__keeps_operators)
{
    CHECK_TIDY("shop::operator<(shop::A const&, shop::A const&)", "shop::operator<");
    CHECK_TIDY("std::ostream& operator<< <int>(std::ostream&, int)", "operator<<<int>");
    CHECK_TIDY("A::operator()(int) const", "A::operator()");
    CHECK_TIDY("A::operator unsigned long() const", "A::operator unsigned long");
    CHECK_TIDY("A::operator std::vector<int, std::allocator<int> >()",
               "A::operator std::vector<int>");
    CHECK_TIDY("operator new[](unsigned long)", "operator new[]");
    CHECK_TIDY("A::operator->() const", "A::operator->");
    CHECK_TIDY("operators::add(int)", "operators::add");
}

TEST(name__keeps_what_is_inside_of_functions)
{
    CHECK_TIDY("train(int)::{lambda(float, int)#2}::operator()(float, int) const",
               "train::{lambda#2}::operator()");
    CHECK_TIDY("std::_Function_handler<void (int), main::{lambda(int)#1}>::_M_invoke(int&&)",
               "std::_Function_handler<void (int), main::{lambda(int)#1}>::_M_invoke");
    CHECK_TIDY("load(int) const::Cache::get()", "load::Cache::get");
}

TEST(name__of_rust_has_no_hash)
{
    CHECK_TIDY("tokenizers::encode::h0123456789abcdef", "tokenizers::encode");
    CHECK_TIDY("tokenizers::encode::hello", "tokenizers::encode::hello");
}

static char *repeated(const char *before, const char *text, size_t times, const char *behind)
{
    size_t length = strlen(text);
    char *whole = calloc(strlen(before) + times * length + strlen(behind) + 1, 1), *at = whole;
    at = stpcpy(at, before);
    while (times-- > 0)
        at = stpcpy(at, text);
    strcpy(at, behind);
    return whole;
}

TEST(name__that_is_enormous_loses_its_templates_then_its_beginning)
{
    char *templates = repeated("void a::b<int", ", std::tuple<int, long>", 50, ">::c(int)");
    char *scopes = repeated("", "scope::", 100, "last()");
    char *deep = repeated("f", "<g", 100000, "");
    struct buf b = BUF_INIT;
    CHECK_TIDY(templates, "a::b<...>::c");
    name_add_tidy(&b, scopes);
    CHECK(b.len <= NAME_MOST && strncmp(b.text, "...::scope::", 12) == 0);
    CHECK_TEXT(b.text + b.len - 13, "::scope::last");
    buf_clear(&b);
    name_add_tidy(&b, deep);
    CHECK(b.len <= NAME_MOST);
    buf_release(&b);
    free(templates);
    free(scopes);
    free(deep);
}

TEST(name__that_is_broken_gives_some_text)
{
    static const char *const broken[] = {"",      "(",     ")",    "<",    ">",     "{",
                                         "}",     "((",    "a<b(", "(*",   "[abi:", "a<(b",
                                         "::",    " ",     "<,",   "a<,>", "a<b,,", "operator",
                                         "a<{b(", "} > )", "(a) "};
    for (unsigned i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        struct buf b = BUF_INIT;
        name_add_tidy(&b, broken[i]);
        CHECK(b.len <= strlen(broken[i]) + 8);
        buf_release(&b);
    }
}
