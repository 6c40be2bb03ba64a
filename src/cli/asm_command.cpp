#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "cli/command.hpp"
#include "cli/json.hpp"
#include "cli/options.hpp"
#include "core/error.hpp"
#include "kernels/registry.hpp"
#include "kernels/sources.hpp"
#include "lens/rung_record.hpp"
#include "lens/source_text.hpp"
#include "model/address_work.hpp"
#include "model/sass.hpp"
#include "pages/explanation_page.hpp"
#include "report/terminal.hpp"
#include "report/text.hpp"

namespace lapidary::cli {
namespace {

using model::InstructionClass;
using model::MachineInstruction;

struct AsmArguments {
  std::string kernel, tile;
  std::optional<std::string> type;
  int line = 0;
  bool sass = false, ptx = false, summary = false, json = false;
};

using Mix = std::array<int, model::instruction_classes>;

/// Of a range of instructions as it stands, whatever of it is executed.
Mix mix_of(const model::CompiledKernel& kernel, const model::Loop& range) {
  Mix mix{};
  for (int i = range.first; i <= range.last; ++i)
    ++mix[static_cast<std::size_t>(kernel.instructions[static_cast<std::size_t>(i)].kind)];
  return mix;
}

int size_of(const model::Loop& range) { return range.last - range.first + 1; }

int products_of(const model::CompiledKernel& kernel, const model::Loop& range) {
  const InstructionClass product = kernel.is_tensor() ? InstructionClass::tensor : InstructionClass::fma;
  return mix_of(kernel, range)[static_cast<std::size_t>(product)];
}

/// Accesses to memory in a range of instructions, by the bytes that a lane moves with each.
using Widths = std::map<std::pair<InstructionClass, int>, int>;

Widths widths_of(const model::CompiledKernel& kernel, const model::Loop& range) {
  Widths widths;
  for (int i = range.first; i <= range.last; ++i) {
    const MachineInstruction& instruction = kernel.instructions[static_cast<std::size_t>(i)];
    if (instruction.bytes > 0 && !instruction.never) ++widths[{instruction.kind, instruction.bytes}];
  }
  return widths;
}

std::string accesses(const model::CompiledKernel& kernel, const model::Loop& loop) {
  std::string text;
  for (const auto& [access, count] : widths_of(kernel, loop))
    text += fmt::format("{}{} {} of {} bytes", text.empty() ? "" : ", ", count, model::name_of(access.first),
                        access.second);
  return text.empty() ? "none to memory" : text;
}

bool is_stale(const model::CompiledKernel& compiled) {
  return compiled.source_hash != rung_source_hash(compiled.kernel);
}

/// @param sass  for PTX the machine code that was made of it, if that is on record
void print_summary(const model::CompiledKernel& compiled, bool ptx, const std::optional<model::CompiledKernel>& sass) {
  fmt::print("{} {}, {}{}, {}: {}{} instructions\n", compiled.kernel, compiled.tile, ptx ? "PTX for " : "",
             compiled.architecture, compiled.compiler, ptx ? "" : fmt::format("{} registers, ", compiled.registers),
             compiled.instructions.size());
  if (is_stale(compiled))
    fmt::print("recorded from another version of the source: script/compiled brings it up to date\n");
  const model::Loop* const loop = compiled.main_loop();
  if (!loop) return;
  const Mix mix = mix_of(compiled, *loop);
  fmt::print("main loop, marked by |: {} instructions", size_of(*loop));
  for (std::size_t c = 0; c < mix.size(); ++c)
    if (mix[c] > 0) fmt::print(", {} {}", mix[c], model::name_of(static_cast<InstructionClass>(c)));
  fmt::print("\na lane's accesses in it: {}\n", accesses(compiled, *loop));
  const model::Loop& inner = *compiled.product_loop();
  const int products = products_of(compiled, inner),
            loads = mix_of(compiled, inner)[static_cast<std::size_t>(InstructionClass::shared_load)];
  if (&inner != loop) fmt::print("the loop in it that has the products, {} instructions: ", size_of(inner));
  fmt::print("{:.0f} % {}; {:.3g} loads of shared memory for each\n", 100.0 * products / size_of(inner),
             compiled.is_tensor() ? "products of tensor cores" : "multiply-adds",
             static_cast<double>(loads) / products);
  if (const auto work = ptx ? std::nullopt : model::address_work(compiled))
    fmt::print("{}\n", pages::addresses_text(*work));
  if (const model::Loop* const made = sass ? sass->main_loop() : nullptr)
    fmt::print("ptxas made of the loop: {} instructions, {} {}, {}\n", size_of(*made), products_of(*sass, *made),
               sass->is_tensor() ? "tensor" : "multiply-add", accesses(*sass, *made));
}

void print_listing(const model::CompiledKernel& compiled, int only, bool ptx) {
  std::map<int, std::string> labels;  // of PTX, by the instruction that they precede
  for (const MachineInstruction& branch : compiled.instructions)
    if (ptx && branch.target >= 0) labels[branch.target] = branch.text.substr(branch.text.rfind(' ') + 1);
  const model::Loop* const loop = compiled.main_loop();
  lens::SourceText sources;
  std::string file;
  int line = 0;
  for (std::size_t i = 0; i < compiled.instructions.size(); ++i) {
    const MachineInstruction& instruction = compiled.instructions[i];
    if (only > 0 && instruction.line != only) continue;
    if (instruction.file != file || instruction.line != line)
      fmt::print("{}\n", report::styled(fmt::format("{}:{}  {}", instruction.file, instruction.line,
                                                    sources.line(instruction.file, instruction.line)),
                                        report::Style::heading, report::wants_colour(stdout)));
    file = instruction.file;
    line = instruction.line;
    const bool inside = loop && static_cast<int>(i) >= loop->first && static_cast<int>(i) <= loop->last;
    const char mark = inside ? '|' : ' ';
    if (ptx) {
      if (const auto label = labels.find(static_cast<int>(i)); label != labels.end())
        fmt::print("{} {}:\n", mark, label->second);
      fmt::print("{}   {}\n", mark, instruction.text);
    } else {
      std::string text = instruction.text;
      if (instruction.target >= 0) text += fmt::format("  // to {:04x}", 16 * instruction.target);
      fmt::print("{} {:04x}  {}\n", mark, 16 * i, text);
    }
  }
}

Json compiled_json(const model::CompiledKernel& compiled, bool ptx) {
  const auto mix_json = [](const Mix& mix) {
    Json json = Json::object();
    for (std::size_t c = 0; c < mix.size(); ++c) json[model::name_of(static_cast<InstructionClass>(c))] = mix[c];
    return json;
  };
  Json json = {{"kernel", compiled.kernel},
               {"id", compiled.id},
               {"tile", compiled.tile},
               {"code", ptx ? "ptx" : "sass"},
               {"type", compiled.type},
               {"architecture", compiled.architecture},
               {"compiler", compiled.compiler},
               {"stale", is_stale(compiled)},
               {"registers", compiled.registers},
               {"stack_bytes", compiled.stack_bytes},
               {"spilled_bytes", compiled.spilled_bytes}};
  json["all"] = mix_json(mix_of(compiled, {0, static_cast<int>(compiled.instructions.size()) - 1}));
  const model::Loop* const loop = compiled.main_loop();
  json["main_loop"] = loop ? mix_json(mix_of(compiled, *loop)) : Json(nullptr);
  json["product_loop"] = loop ? mix_json(mix_of(compiled, *compiled.product_loop())) : Json(nullptr);
  const auto work = ptx ? std::nullopt : model::address_work(compiled);
  json["addresses"] = work ? addresses_json(*work) : Json(nullptr);
  json["main_loop_accesses"] = Json::array();
  for (const auto& [access, count] : loop ? widths_of(compiled, *loop) : Widths())
    json["main_loop_accesses"].push_back(
        {{"access", model::name_of(access.first)}, {"bytes", access.second}, {"instructions", count}});
  return json;
}

ExitCode run(const AsmArguments& a) {
  const Rung& rung = lens::known_rung(a.kernel);
  const KernelEntry& kernel = rung.kernel(a.type ? parse_kind(*a.type) : rung.kernels.front().kind, a.tile);
  const std::string tile = to_string(kernel.tile), type = to_string(kernel.kind);
  const auto sass = model::find_compiled(kernel.id());
  const auto compiled = a.ptx ? model::find_ptx(kernel.id()) : sass;
  if (!compiled)
    throw InvalidArgument(fmt::format(
        "there is no record of the {} of {} {} {}; script/compiled {} writes those of its first type and of "
        "others that were measured, where nvcc is",
        a.ptx ? "PTX" : "machine code", rung.name(), tile, type, rung.name()));
  if (a.json) {
    print(compiled_json(*compiled, a.ptx));
    return success;
  }
  print_summary(*compiled, a.ptx, a.ptx ? sass : std::nullopt);
  if (!a.summary) {
    fmt::print("\n");
    print_listing(*compiled, a.line, a.ptx);
  }
  return success;
}

}  // namespace

Command add_asm(App program) {
  App app = program.add_subcommand("asm",
                                   "the machine code or the PTX that nvcc made of a kernel, under its source lines");
  const auto a = std::make_shared<AsmArguments>();
  app.add_option("KERNEL", a->kernel, "a name that `lapidary list` shows").required().type_name("");
  Option sass = app.add_flag("--sass", a->sass, "the machine code (what is shown without an option)");
  app.add_flag("--ptx", a->ptx, "the PTX that ptxas made it of").excludes(sass);
  app.add_option("--tile", a->tile, "block tile, as `lapidary list` shows it (the first one)").type_name("TILE");
  add_type_option(app, a->type);
  const Option line = app.add_option("--line", a->line, "of this source line alone").check(whole_number(1, 100000));
  app.add_flag("--summary", a->summary, "registers and the mix of instructions alone").excludes(line);
  app.add_flag("--json", a->json, "print registers and mix as JSON").excludes(line);
  return {app, [a] { return run(*a); }};
}

}  // namespace lapidary::cli
