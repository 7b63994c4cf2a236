// SPDX-License-Identifier: Apache-2.0
// Whatever a script of bash hands to a program, our reader either says the same words or says that
// it does not know them. Bash itself runs the scripts that are drawn here, and no others, with a
// stand-in for torchrun that prints its arguments.
#include <sys/stat.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "catch.hpp"
#include "frameworks/shell_script.hpp"

namespace stepcast::shell_bash_property_test {
namespace {

namespace fs = std::filesystem;

// A folder of its own with the stand-in, and what goes away with it.
class Bash {
 public:
  Bash() {
    std::string name = (fs::temp_directory_path() / "stepcast_bash_XXXXXX").string();
    folder_ = mkdtemp(name.data());
    std::ofstream(folder_ / "torchrun") << "#!/bin/bash\nprintf '%s\\n' BEGIN \"$@\" END\n";
    chmod((folder_ / "torchrun").c_str(), 0755);
  }
  ~Bash() { fs::remove_all(folder_); }
  Bash(const Bash&) = delete;
  Bash& operator=(const Bash&) = delete;

  // A line for each argument of each start, BEGIN and END around them.
  [[nodiscard]] std::string arguments(const std::string& script,
                                      const std::string& environment = {}) const {
    std::ofstream(folder_ / "run.sh") << script;
    const std::string command = "cd " + folder_.string() + " && env -i PATH=" + folder_.string() +
                                ":/usr/bin:/bin " + environment + " bash ./run.sh 2>/dev/null";
    FILE* const pipe = popen(command.c_str(), "r");
    REQUIRE(pipe != nullptr);
    std::string printed;
    std::array<char, 4096> part{};
    for (std::size_t read = 1; read > 0;) {
      read = fread(part.data(), 1, part.size(), pipe);
      printed.append(part.data(), read);
    }
    pclose(pipe);
    return printed;
  }

 private:
  fs::path folder_;
};

struct Reading {
  std::string arguments;  // as Bash has them
  bool is_known = true;
};

Reading reading_of(const std::string& script) {
  const ShellScript read = run_script(
      script, "run.sh", {}, [](const std::string&) { return std::optional<std::string>{}; });
  Reading made;
  for (const ShellCommand& command : read.commands) {
    if (command.words.front().text != "torchrun") {
      continue;
    }
    made.is_known = made.is_known && command.doubts.empty();
    for (const ShellField& field : command.fields) {
      made.is_known = made.is_known && field.text.known().has_value();
    }
    made.arguments += "BEGIN\n";
    for (std::size_t i = 1; i < command.words.size(); ++i) {
      made.arguments += command.words[i].text + "\n";
    }
    made.arguments += "END\n";
  }
  return made;
}

// Draws parts of scripts, the same for the same seed.
class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}

  std::size_t below(std::size_t count) { return random_() % count; }
  template <std::size_t N>
  std::string one_of(const std::array<const char*, N>& choices) {
    return choices.at(below(N));
  }
  std::string number() { return std::to_string(1 + below(12)); }
  std::string name() { return one_of(std::array{"A", "B", "C", "SIZE", "MODE"}); }
  std::string value() {
    return one_of(std::array{"8B", "llama-70b", "TRUE", "moe", "4", "16", "a b", "x,y,z",
                             "path/to/file.bin", "", "0", "Fp8_Hybrid", "--bf16", "a*b"});
  }
  std::string pattern() {
    return one_of(std::array{"*b", "l*", "[0-9]*", "?B", "*/*", "moe", "*", "8B", "[!a-z]*", "4"});
  }

 private:
  std::mt19937 random_;
};

using Feature = std::function<std::string(Draw&)>;

std::string assigned(Draw& draw) { return draw.name() + "='" + draw.value() + "'\n"; }

// What scripts that launch a training do, a line or two each.
const std::vector<Feature>& features() {
  static const std::vector<Feature> all = {
      assigned,
      [](Draw& d) {
        return d.name() + "=$((" + d.number() + " > " + d.number() + " ? " + d.number() + " : " +
               d.number() + "))\n";
      },
      [](Draw& d) { return "N=$((N + " + d.number() + " * " + d.number() + " % 7))\n"; },
      [](Draw& d) { return "((N += " + d.number() + "))\n((N > 20)) && ARGS+=(--large $N)\n"; },
      [](Draw& d) {
        return "ARGS+=(--x ${" + d.name() + ":-" + d.number() + "} \"${" + d.name() + ":+set}\")\n";
      },
      [](Draw& d) { return "T=\"${" + d.name() + ",,} ${" + d.name() + "^^}\"\n"; },
      [](Draw& d) {
        return "ARGS+=(\"${" + d.name() +
               d.one_of(std::array{"%%*/", "##*/", "%.*", "#*-", "%b", "/b/x", "//,/ ", "/#l/L",
                                   ":1:2", ": -2"}) +
               "}\")\n";
      },
      [](Draw& d) {
        return "case $" + d.name() + " in\n  " + d.pattern() + "|zz) ARGS+=(--case one);;\n  " +
               d.pattern() + ") ARGS+=(--case two) ;;\n  *) ARGS+=(--case else)\nesac\n";
      },
      [](Draw& d) {
        return "if [ \"$" + d.name() + "\" = " + d.number() + " ]; then ARGS+=(--same); elif [[ $" +
               d.name() + " == " + d.pattern() +
               " ]]; then ARGS+=(--like); else ARGS+=(--none); fi\n";
      },
      [](Draw& d) {
        return "if [[ $" + d.name() +
               " =~ ([0-9]+)b?$ ]]; then ARGS+=(--digits ${BASH_REMATCH[1]}); fi\n";
      },
      [](Draw& d) { return "[ -n \"$" + d.name() + "\" ] && T=\"$T full\" || T=\"$T empty\"\n"; },
      [](Draw& d) {
        return "for ((i = 0; i < " + d.number() +
               "; i++)); do if ((i % 2)); then continue; fi; L+=($i); done\n";
      },
      [](Draw& d) {
        return "for i in {1.." + d.number() +
               "} a{b,c}; do T=\"$T-$i\"; [ $i = 3 ] && break; done\n";
      },
      [](Draw& d) {
        return "k=0\nwhile [ $k -lt " + d.number() + " ]; do k=$((k + 2)); done\nARGS+=(--k $k)\n";
      },
      [](Draw& d) {
        return "f() { local x=${1:-none}; ARGS+=(--f \"$x\" $#); [ \"$x\" = moe ]; }\nf " +
               d.number() + " $" + d.name() + " && T=\"$T f\"\n";
      },
      [](Draw& d) { return "eval \"ARGS+=(--eval '$" + d.name() + "' $N)\"\n"; },
      [](Draw& d) {
        return "printf -v P '%s-%d' \"$" + d.name() + "\" " + d.number() + "\nARGS+=(--p \"$P\")\n";
      },
      [](Draw& d) { return "T=\"$T $(echo --sub $" + d.name() + " | tr a-z A-Z)\"\n"; },
      [](Draw& d) {
        return "IFS=',' read -ra PARTS <<< \"$" + d.name() +
               "\"\nARGS+=(--parts ${#PARTS[@]} \"${PARTS[0]}\")\n";
      },
      [](Draw& d) {
        return "declare -A M=([8B]=32 [moe]=" + d.number() + ")\nARGS+=(--map \"${M[${" + d.name() +
               "}_]-}${M[8B]}\")\n";
      },
      [](Draw& d) {
        return "ARGS+=(\"${L[@]}\" \"${L[*]}\" ${#L[@]} \"${L[@]:1:2}\")\n# " + d.number() + "\n";
      },
      [](Draw& d) { return "V=" + d.name() + "\nARGS+=(--indirect \"${!V}\")\n"; },
      [](Draw& d) { return "T+=\" $(basename \"path/$" + d.name() + ".sh\" .sh)\"\n"; },
      [](Draw& d) {
        return "X=$(cat <<EOF\n--doc $" + d.name() + "\nit's \"so\" \\$X\nEOF\n)\nARGS+=(\"$X\")\n";
      },
      [](Draw& d) {
        return "set -- $" + d.name() + " two \"three 3\"\nshift\nARGS+=(\"$1\" $# \"$@\")\n";
      },
      [](Draw& d) {
        return "export " + d.name() + "E=" + d.number() +
               "\nbash -c 'torchrun --inner \"${AE:-}${BE:-}\" $0 $1' zero \"$" + d.name() + "\"\n";
      },
      [](Draw& d) {
        return "for p in $(seq 1 " + d.number() +
               "); do case $p in 2) continue;; 5) break;; esac; T=\"$T$p\"; done\n";
      },
      [](Draw& d) {
        return "! [[ -z $" + d.name() + " || $" + d.name() + " == " + d.pattern() +
               " && $N -ge 3 ]] && ARGS+=(--tested)\n";
      },
  };
  return all;
}

std::string script_of(Draw& draw) {
  std::string script = "#!/bin/bash\nARGS=(--start)\nL=()\nN=1\nT=\"\"\n";
  for (const char* name : {"A", "B", "C", "SIZE", "MODE"}) {
    script += std::string(name) + "='" + draw.value() + "'\n";
  }
  const std::size_t parts = 2 + draw.below(8);
  for (std::size_t i = 0; i < parts; ++i) {
    script += features()[draw.below(features().size())](draw);
  }
  return script + "torchrun \"${ARGS[@]}\" $T \"$A\" $B ${C} \"$N\"\n";
}

TEST_CASE("a drawn script hands the words to a program that bash hands to it", "[property]") {
  const Bash bash;
  std::size_t known = 0;
  constexpr unsigned kScripts = 250;
  for (unsigned seed = 1; seed <= kScripts; ++seed) {
    Draw draw(seed);
    const std::string script = script_of(draw);
    const Reading read = reading_of(script);
    known += read.is_known ? 1 : 0;
    if (read.is_known) {
      const std::string right = bash.arguments(script);
      INFO("seed " << seed << "\n" << script);
      CHECK(read.arguments == right);
    }
  }
  CHECK(known > kScripts * 3 / 4);
}

// Conditions on what bash is started with: nobody can say what holds.
std::string doubtful_script(Draw& draw) {
  std::string script = "#!/bin/bash\nARGS=(--start)\nN=1\nT=\"\"\nA=x\n";
  const std::vector<Feature> open = {
      [](Draw& d) {
        return "if [ \"$WHO\" = one ]; then ARGS+=(--one); else T=\"$T other" + d.number() +
               "\"; fi\n";
      },
      [](Draw& d) { return "[[ $WHO == t* ]] && N=" + d.number() + "\n"; },
      [](Draw& d) {
        return "case $WHO in one) A=first" + d.number() + ";; two) A=second;; esac\n";
      },
      [](Draw& d) { return "A=${WHO:0:" + d.number() + "}\n"; },
      [](Draw& d) {
        return "for i in 1 2 3; do [ \"$WHO\" = two ] && break; N=$((N + " + d.number() +
               ")); done\n";
      },
      [](Draw& d) { return "if [ -f file_$WHO ]; then T=there" + d.number() + "; fi\n"; },
      [](Draw& d) { return "N=$((${#WHO} + " + d.number() + "))\n"; },
      [](Draw&) {
        return std::string(
            "f() { [ \"$WHO\" = one ] && return 0; ARGS+=(--f); return 1; }\nf && T=f\n");
      },
      [](Draw& d) { return "T=$(printenv WHO)" + d.number() + "\n"; },
      [](Draw& d) {
        return "while [ \"$WHO\" = one ] && [ $N -lt " + d.number() + " ]; do N=$((N * 2)); done\n";
      },
  };
  script += "K=" + draw.number() + "\n";
  const std::size_t parts = 1 + draw.below(3);
  for (std::size_t i = 0; i < parts; ++i) {
    script += draw.below(2) == 0 ? open[draw.below(open.size())](draw)
                                 : features()[draw.below(features().size())](draw);
  }
  script += draw.below(2) == 0 ? "A=known\n" : "";
  return script + "torchrun \"${ARGS[@]}\" $T \"$A\" \"$N\"\n";
}

TEST_CASE("what hangs on the caller is never taken for an answer", "[property]") {
  const Bash bash;
  std::size_t differing = 0;
  constexpr unsigned kScripts = 100;
  for (unsigned seed = 1; seed <= kScripts; ++seed) {
    Draw draw(seed + 10'000);
    const std::string script = doubtful_script(draw);
    const std::string one = bash.arguments(script, "WHO=one");
    const std::string two = bash.arguments(script, "WHO=two");
    const Reading read = reading_of(script);
    differing += one == two ? 0 : 1;
    INFO("seed " << seed << "\n" << script);
    CHECK((one == two || !read.is_known));
    CHECK((!read.is_known || read.arguments == one));
  }
  CHECK(differing > kScripts / 5);
}

}  // namespace
}  // namespace stepcast::shell_bash_property_test
