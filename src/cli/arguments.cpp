#include "cli/arguments.hpp"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <utility>

namespace lapidary::cli {

Check::Check(std::function<std::string(std::string&)> refusal) : Check(CLI::Validator(std::move(refusal), "")) {}
Check::Check(const CLI::Validator& validator) : validator_(std::make_shared<const CLI::Validator>(validator)) {}

Check in_range(int least, int most) { return Check(CLI::Range(least, most)); }
Check in_range(double least, double most) { return Check(CLI::Range(least, most)); }
Check one_of(std::vector<std::string> values) { return Check(CLI::IsMember(std::move(values))); }
Check one_of(std::initializer_list<int> values) { return Check(CLI::IsMember(values)); }

const Option& Option::check(const Check& check) const {
  option_->check(check.validator());
  return *this;
}

const Option& Option::transform(const Check& check) const {
  option_->transform(check.validator());
  return *this;
}

const Option& Option::type_name(const std::string& name) const {
  option_->type_name(name);
  return *this;
}

const Option& Option::group(const std::string& heading) const {
  option_->group(heading);
  return *this;
}

const Option& Option::required() const {
  option_->required();
  return *this;
}

const Option& Option::needs(const Option& other) const {
  option_->needs(other.option_);
  return *this;
}

const Option& Option::needs_one_of(std::vector<Option> others) const {
  // Values are looked at when the whole command line has been read.
  option_->check(CLI::Validator(
      [own = option_, others = std::move(others)](std::string&) -> std::string {
        std::string names;
        for (const Option& other : others) {
          if (other.option_->count() > 0) return {};
          names += (names.empty() ? "" : " or ") + other.option_->get_name();
        }
        throw CLI::RequiresError(own->get_name(), names);
      },
      ""));
  return *this;
}

const Option& Option::excludes(const Option& other) const {
  option_->excludes(other.option_);
  return *this;
}

const Option& Option::allow_extra_args(bool several) const {
  option_->allow_extra_args(several);
  return *this;
}

App App::add_subcommand(const std::string& name, const std::string& description) const {
  return App(*app_->add_subcommand(name, description));
}

template <class T>
Option App::add_option(const std::string& names, T& place, const std::string& description) const {
  CLI::Option* const option = app_->add_option(names, place, description);
  option->check(CLI::Validator(
      [](const std::string& text) { return text.empty() ? std::string("its value is empty") : std::string(); }, ""));
  return Option(*option);
}

template <class T>
Option App::add_list(const std::string& names, std::vector<T>& place, const std::string& description) const {
  const CLI::callback_t read = [&place](const CLI::results_t& texts) {
    place.clear();
    for (const std::string& text : texts)
      for (const std::string& part : CLI::detail::split(text, ',')) {
        T value{};
        if (!CLI::detail::lexical_cast(part, value)) return false;
        place.push_back(std::move(value));
      }
    return true;
  };
  CLI::Option* const option = app_->add_option(names, read, description);
  option->expected(CLI::detail::expected_max_vector_size);
  // Not CLI11's delimiter(), which leaves empty values out before anyone sees them.
  option->check(CLI::Validator(
      [](const std::string& text) {
        const bool has_empty = text.empty() || text.front() == ',' || text.back() == ',' ||
                               text.find(",,") != std::string::npos;
        return has_empty ? "one of the values of '" + text + "' is empty" : std::string();
      },
      ""));
  return Option(*option);
}

// What options of this program are kept in.
#define LAPIDARY_PLACE(...) template Option App::add_option(const std::string&, __VA_ARGS__&, const std::string&) const;
LAPIDARY_PLACE(int)
LAPIDARY_PLACE(std::int64_t)
LAPIDARY_PLACE(std::uint64_t)
LAPIDARY_PLACE(double)
LAPIDARY_PLACE(float)
LAPIDARY_PLACE(std::string)
LAPIDARY_PLACE(std::optional<int>)
LAPIDARY_PLACE(std::optional<std::int64_t>)
LAPIDARY_PLACE(std::optional<float>)
LAPIDARY_PLACE(std::optional<double>)
LAPIDARY_PLACE(std::optional<std::string>)
LAPIDARY_PLACE(std::vector<std::int64_t>)
LAPIDARY_PLACE(std::vector<std::string>)
#undef LAPIDARY_PLACE

#define LAPIDARY_LIST(...) \
  template Option App::add_list(const std::string&, std::vector<__VA_ARGS__>&, const std::string&) const;
LAPIDARY_LIST(int)
LAPIDARY_LIST(std::uint64_t)
LAPIDARY_LIST(std::string)
#undef LAPIDARY_LIST

Option App::add_flag(const std::string& names, bool& place, const std::string& description) const {
  return Option(*app_->add_flag(names, place, description));
}

void App::footer(const std::string& text) const { app_->footer(text); }
std::string App::name() const { return app_->get_name(); }
bool App::parsed() const { return app_->parsed(); }

}  // namespace lapidary::cli
