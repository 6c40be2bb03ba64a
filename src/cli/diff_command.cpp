#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>

#include "cli/command.hpp"
#include "cli/json.hpp"
#include "core/error.hpp"
#include "kernels/registry.hpp"
#include "kernels/sources.hpp"
#include "lens/rung_record.hpp"
#include "report/diff.hpp"
#include "report/table.hpp"

namespace lapidary::cli {
namespace {

struct DiffArguments {
  std::string a, b;
  bool json = false;
};

report::Style style_of(std::string_view line) {
  switch (line.empty() ? ' ' : line[0]) {
    case '+': return report::Style::good;
    case '-': return report::Style::bad;
    case '@': return report::Style::faint;
    default: return report::Style::plain;
  }
}

ExitCode diff(const DiffArguments& arguments) {
  const Rung& given = lens::known_rung(arguments.a);
  const bool against_parent = arguments.b.empty();
  if (against_parent && !*given.info->parent) {
    throw InvalidArgument(fmt::format("{} has no parent; name two kernels: lapidary diff A B", given.name()));
  }
  const Rung& from = against_parent ? lens::known_rung(given.info->parent) : given;
  const Rung& to = against_parent ? given : lens::known_rung(arguments.b);
  const std::string text = report::unified_diff(from.source, rung_source(from.name()), to.source,
                                                rung_source(to.name()));

  std::uint64_t added = 0, removed = 0;
  std::string shown;
  const bool colour = report::wants_colour(stdout);
  int number = 0;
  for (std::size_t begin = 0, end; begin < text.size(); begin = end + 1) {
    end = text.find('\n', begin);
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    const bool names_file = ++number <= 2;
    const report::Style style = names_file ? report::Style::heading : style_of(line);
    added += style == report::Style::good;
    removed += style == report::Style::bad;
    shown += report::styled(std::string(line), style, colour) + '\n';
  }
  if (arguments.json) {
    print({{"from", from.name()}, {"to", to.name()}, {"added", added}, {"removed", removed}, {"diff", text}});
  } else {
    fmt::print("{}", shown);
  }
  return success;
}

}  // namespace

Command add_diff(App program) {
  App app = program.add_subcommand("diff", "what changes in the source from kernel A to kernel B");
  const auto arguments = std::make_shared<DiffArguments>();
  app.add_option("A", arguments->a, "a kernel; alone, it is compared with its parent").required().type_name("");
  app.add_option("B", arguments->b, "the kernel to compare it with").type_name("");
  app.add_flag("--json", arguments->json, "print JSON");
  return {app, [arguments] { return diff(*arguments); }};
}

}  // namespace lapidary::cli
