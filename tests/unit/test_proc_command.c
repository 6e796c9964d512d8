/* tests/unit/test_proc_command.c: command lines for people: quoted, and without their secrets. */
#include "proc/proc.h"
#include "unit.h"

/* The command line `text`, with its arguments separated by '|', as shown to people. */
static const char *command(const char *text)
{
    static struct buf out;
    char arguments[512];
    snprintf(arguments, sizeof arguments, "%s", text);
    size_t len = strlen(arguments);
    for (size_t i = 0; i < len; i++) {
        if (arguments[i] == '|')
            arguments[i] = '\0';
    }
    buf_clear(&out);
    proc_add_command(&out, arguments, len);
    return buf_text(&out);
}

TEST(command__quotes_where_a_shell_would_need_it)
{
    CHECK_TEXT(command("python|train.py|--lr|0.1"), "python train.py --lr 0.1");
    CHECK_TEXT(command("sh|-c|a b"), "sh -c 'a b'");
    CHECK_TEXT(command("echo|it's"), "echo 'it'\\''s'");
    CHECK_TEXT(command("a||b"), "a '' b");
    CHECK_TEXT(command("a|b||||"), "a b");
    CHECK_TEXT(command(""), "");
}

TEST(command__knows_a_python_interpreter)
{
    CHECK(proc_command_is_python("/usr/bin/python3 train.py"));
    CHECK(proc_command_is_python("python3.11 -m train"));
    CHECK(proc_command_is_python("python"));
    CHECK(!proc_command_is_python("./train python3"));
    CHECK(!proc_command_is_python("/opt/python3/bin/trainer"));
    CHECK(!proc_command_is_python(""));
}

TEST(command__cannot_drive_a_terminal)
{
    CHECK_TEXT(command("python|-c|a\nb\tc\x1b[2J\x07"), "python -c 'a b c?[2J?'");
    CHECK_TEXT(command("caf\xc3\xa9|\xff\xfe"), "caf\xc3\xa9 ??");
}

TEST(command__hides_values_of_telling_options)
{
    static const char *texts[][2] = {
        {"t|--token=abc", "t --token=***"},
        {"t|--token|abc|--lr|1", "t --token *** --lr 1"},
        {"t|--hf-token|abc", "t --hf-token ***"},
        {"t|--hub_token=abc", "t --hub_token=***"},
        {"t|--api-key|x", "t --api-key ***"},
        {"t|--api_key=a,b c", "t '--api_key=***'"},
        {"t|--apiKey|x", "t --apiKey ***"},
        {"t|--password|-x", "t --password ***"},
        {"t|--db.passwd=x", "t --db.passwd=***"},
        {"t|--secret|x", "t --secret ***"},
        {"t|--client-secret=x", "t --client-secret=***"},
        {"t|--aws-access-key|x", "t --aws-access-key ***"},
        {"t|--key|x", "t --key ***"},
        {"t|--auth|user", "t --auth ***"},
        {"t|--credentials=f", "t --credentials=***"},
        {"t|+logger.wandb.api_key=x", "t +logger.wandb.api_key=***"},
        {"t|wandb.token=x|lr=1", "t wandb.token=*** lr=1"},
        {"t|--pass=x", "t --pass=***"},
        {"t|--pass|x", "t --pass ***"},
        {"t|--db-pass|x", "t --db-pass ***"},
        {"t|--pw|x", "t --pw ***"},
        {"t|--admin_pw=x", "t --admin_pw=***"},
        {"plink|-pw|x|host", "plink -pw *** host"},
        {"vault|-token|x", "vault -token ***"},
        {"keytool|-storepass|x", "keytool -storepass ***"},
        {"wget|--cookie|a=b", "wget --cookie ***"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        CHECK_TEXT(command(texts[i][0]), texts[i][1]);
}

TEST(command__hides_telling_variables)
{
    static const char *texts[][2] = {
        {"env|HF_TOKEN=abc|python", "env HF_TOKEN=*** python"},
        {"env|WANDB_API_KEY=x", "env WANDB_API_KEY=***"},
        {"env|SORT_KEY=x", "env SORT_KEY=***"},
        {"env|MY_SECRETS=x", "env MY_SECRETS=***"},
        {"env|PGPASSWORD=x", "env PGPASSWORD=***"},
        {"env|AWS_SESSION=x", "env AWS_SESSION=***"},
        {"env|DB_PWD=x", "env DB_PWD=***"},
        {"env|DB_PASS=x|FTP_PW=y", "env DB_PASS=*** FTP_PW=***"},
        {"env|SSHPASS=x", "env SSHPASS=***"},
        {"sh|-c|HF_TOKEN=abc python t.py --token x y",
         "sh -c 'HF_TOKEN=*** python t.py --token *** y'"},
        {"sh|-c|export A_KEY='a b'; run", "sh -c 'export A_KEY='\\''***'\\''; run'"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        CHECK_TEXT(command(texts[i][0]), texts[i][1]);
}

TEST(command__leaves_what_is_no_secret)
{
    static const char *texts[] = {
        "t --tokenizer gpt2 --max-tokens 512 --num_key_value_heads 8",
        "t --key-frames 3 --sort-key loss --text_key text --max_new_tokens=5",
        "t --pad-token 0 --eos_token=2 --add-bos-token true --n_token 4",
        "t --token --lr 1",
        "t --use-auth-token train.py",
        "t --no-auth x --secretary x --author me --passwords-file=f --author=me",
        "t --keyboard=x monkey=banana hotkey x turkey=1",
        "env PWD=/home/me OLDPWD=/tmp AWS_REGION=eu KEYS=1 TOKENIZERS_PARALLELISM=false python",
        "t --master_addr=10.0.0.1 --master-port 29500",
        "t https://host/path@v1 ssh://git@host/x s3://bucket/key model@main",
        "t sk-learn-contrib-lightning-models hf_transformers task-12345678901234567890123",
        "t -p x -t y -pfoo -u user:group",
        "mkdir -p dir/sub",
        "ssh -p 2222 host",
        "nc -u 10.0.0.1:53",
        "docker run -p 8080:80 -u 1000:1000 --user app:app image",
        "python -m http.server -p 8080",
        "python train.py -port 29500 -p 8080",
        "mysql -P 3306 -u root db",
        "curl -u name -b cookies.txt -o out.txt host",
        "t --num-pass 3 --forward_pass=2 --two-pass x --bypass x --highpass=3",
        "t N_PASS=3 BYPASS=1",
        "git clone https://name@host/x",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char split[256];
        snprintf(split, sizeof split, "%s", texts[i]);
        for (char *s = split; *s; s++)
            *s = *s == ' ' ? '|' : *s;
        CHECK_TEXT(command(split), texts[i]);
    }
}

TEST(command__hides_what_shows_by_itself)
{
    static const char *texts[][2] = {
        {"git|https://user:pw@host/x", "git https://***@host/x"},
        {"t|--url=postgres://u:p@ss@db/x?y=1", "t '--url=postgres://***@db/x?y=1'"},
        {"t|hf_abcdefghijklmnopqrstuvwxyz", "t ***"},
        {"t|--x=sk-proj-Abc123Abc123Abc123Abc", "t --x=***"},
        {"t|ghp_0123456789abcdef0123", "t ***"},
        {"t|a:github_pat_0123456789_abcdef0123", "t a:***"},
        {"t|xoxb-123456789012-abc", "t ***"},
        {"t|id=AKIAIOSFODNN7EXAMPLE,x", "t id=***,x"},
        {"t|glpat-0123456789abcdefXYZ", "t ***"},
        {"curl|-H|Authorization: Bearer abcdefgh.ijk", "curl -H 'Authorization: ***'"},
        {"curl|-H|X: Bearer abcdefgh.ijk", "curl -H 'X: Bearer ***'"},
        {"curl|-H|X-Api-Key: abc", "curl -H 'X-Api-Key: ***'"},
        {"curl|http://h/?a=1&token=abc&b=2", "curl 'http://h/?a=1&token=***&b=2'"},
        {"t|the bearer of news", "t 'the bearer of news'"},
        {"curl|-H|Proxy-Authorization: Basic dXNlcg==", "curl -H 'Proxy-Authorization: ***'"},
        {"curl|-H|X-Auth-Token: Token abc", "curl -H 'X-Auth-Token: ***'"},
        {"t|-H|Cookie: a=1; b=\"2\"", "t -H 'Cookie: ***'"},
        {"t|curl -H 'Cookie: a=\"1\"; b' x", "t 'curl -H '\\''Cookie: ***'\\'' x'"},
        {"git|https://0c5f9a8b7c6d5e4f3a2b@host/x", "git https://***@host/x"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        CHECK_TEXT(command(texts[i][0]), texts[i][1]);
}

/* The program decides what -p and -u mean. */
TEST(command__hides_what_its_program_takes_for_a_secret)
{
    static const char *texts[][2] = {
        {"mysql|-phunter2|db", "mysql -p*** db"},
        {"/usr/bin/mysqldump|-u|root|-phunter2|db", "/usr/bin/mysqldump -u root -p*** db"},
        {"sudo|-u|me|mysql|-p|hunter2", "sudo -u me mysql -p ***"},
        {"mysql|-p|-u|root", "mysql -p -u root"},
        {"sshpass|-p|hunter2|ssh|-p|22|host", "sshpass -p *** ssh -p *** host"},
        {"mongosh|-u|me|-p|hunter2", "mongosh -u me -p ***"},
        {"docker|login|-u|me|-p|hunter2|host", "docker login -u me -p *** host"},
        {"redis-cli|-a|hunter2|ping", "redis-cli -a *** ping"},
        {"zip|-P|hunter2|a.zip|f", "zip -P *** a.zip f"},
        {"curl|-u|user:hunter2|host", "curl -u *** host"},
        {"curl|-uuser:hunter2|host", "curl -u*** host"},
        {"curl|-sSu|user:hunter2|host", "curl -sSu *** host"},
        {"timeout|9|curl|--user|user:hunter2|host", "timeout 9 curl --user *** host"},
        {"curl|--proxy-user=user:hunter2|host", "curl --proxy-user=*** host"},
        {"curl|-b|a=hunter2|host", "curl -b *** host"},
        {"curl|--cookie|a=hunter2|host", "curl --cookie *** host"},
        {"curl|-HCookie: a=hunter2|host", "curl '-HCookie: ***' host"},
        {"sh|-c|mysql -phunter2 db; mkdir -p x", "sh -c 'mysql -p*** db; mkdir -p x'"},
        {"sh|-c|curl -su 'me:hunter2' h; ssh -p 22 h",
         "sh -c 'curl -su '\\''***'\\'' h; ssh -p 22 h'"},
        {"bash|-c|cd /x && /opt/curl -b a=hunter2 h", "bash -c 'cd /x && /opt/curl -b *** h'"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        CHECK_TEXT(command(texts[i][0]), texts[i][1]);
}

TEST(command__hides_secrets_in_code_and_json)
{
    static const char *texts[][2] = {
        {"t|{\"api_key\": \"abc def\", \"lr\": 1}", "t '{\"api_key\": \"***\", \"lr\": 1}'"},
        {"t|{\"key\": \"loss\"}", "t '{\"key\": \"loss\"}'"},
        {"t|x={\\\"password\\\":\\\"abc\\\"}", "t 'x={\\\"password\\\":\\\"***\\\"}'"},
        {"t|login(token=\"abc\", n=1)", "t 'login(token=\"***\", n=1)'"},
        {"t|os.environ[\"HF_TOKEN\"] = \"abc\"", "t 'os.environ[\"HF_TOKEN\"] = \"***\"'"},
        {"t|sorted(x, key=len)", "t 'sorted(x, key=len)'"},
        {"t|password: abc, user: x", "t 'password: ***, user: x'"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        CHECK_TEXT(command(texts[i][0]), texts[i][1]);
}

TEST(command__is_redacted_one_by_one_too)
{
    static const char *const argv[] = {"t", "--token", "abc", "a\033b c"};
    struct buf out = BUF_INIT;
    proc_redact(argv, 4, &out);
    CHECK(out.len == sizeof "t\0--token\0***\0a?b c");
    CHECK(memcmp(out.text, "t\0--token\0***\0a?b c", out.len) == 0);
    proc_redact(argv, 0, &out);
    CHECK(out.len == 0);
    buf_release(&out);
}
