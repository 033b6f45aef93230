#include "store/sql/guard.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/ascii.h"
#include "store/engine/query_rows.h"
#include "store/engine/schema.h"

namespace wherefore::store {
namespace {

// Categories of functions that only compute on their arguments.
constexpr std::array<std::string_view, 26> kCategories = {"Arithmetic",
                                                          "Arrays",
                                                          "Bit",
                                                          "Comparison",
                                                          "Conditional",
                                                          "Dates and Times",
                                                          "Distance",
                                                          "Encoding",
                                                          "Hash",
                                                          "IP Address",
                                                          "JSON",
                                                          "Logical",
                                                          "Map",
                                                          "Mathematical",
                                                          "Null",
                                                          "Rounding",
                                                          "String",
                                                          "String Replacement",
                                                          "String Search",
                                                          "String Splitting",
                                                          "Time Window",
                                                          "Tuple",
                                                          "Type Conversion",
                                                          "URL",
                                                          "UUID",
                                                          "Random Number"};
// Of the category "Other", which has everything from bar() to file(), and of none. Lower case.
constexpr std::array<std::string_view, 21> kOthers = {"arrayjoin",
                                                      "bar",
                                                      "exists",
                                                      "formatreadabledecimalsize",
                                                      "formatreadablequantity",
                                                      "formatreadablesize",
                                                      "formatreadabletimedelta",
                                                      "identity",
                                                      "ignore",
                                                      "isconstant",
                                                      "lambda",
                                                      "materialize",
                                                      "neighbor",
                                                      "parsereadablesize",
                                                      "parsetimedelta",
                                                      "rownumberinallblocks",
                                                      "rownumberinblock",
                                                      "runningdifference",
                                                      "totypename",
                                                      "transform",
                                                      "widthbucket"};
// Of the categories above, but not what they seem. Lower case.
constexpr std::array<std::string_view, 40> kRefused = {
    // Use other functions, formats or types by a name that may be worked out.
    "accuratecast", "accuratecastordefault", "accuratecastornull", "arrayreduce",
    "arrayreduceinranges", "chdb", "formatrow", "formatrownonewline", "groupformat", "jsonextract",
    "jsonextractcaseinsensitive", "jsonextractkeysandvalues",
    "jsonextractkeysandvaluescaseinsensitive", "naivebayesngrams", "reinterpret",
    // Read what the process is, or end it.
    "aggthrow", "flamegraph", "generatesnowflakeid",
    // Take the square of their input in time, and do not look at the clock meanwhile.
    "arrayautocorrelation", "arraylevenshteindistance", "arraylevenshteindistanceweighted",
    "arraysimilarity", "dameraulevenshteindistance", "editdistance", "editdistanceutf8", "hasall",
    "hasany", "hassubstr", "arrayintersect", "arrayexcept", "arrayjaccardindex",
    "arraysymmetricdifference",
    // Compile patterns at any cost.
    "multifuzzymatchallindices", "multifuzzymatchany", "multifuzzymatchanyindex",
    "multimatchallindices", "multimatchany", "multimatchanyindex",
    // Take states of aggregate functions, which are bytes that nobody checks.
    "groupnumericindexedvector", "mvtencode"};
// What may stand behind the name of an aggregate function.
constexpr std::array<std::string_view, 10> kSuffixes = {
    "If",       "Array",   "Map",      "OrNull", "OrDefault",
    "Distinct", "ForEach", "Resample", "ArgMin", "ArgMax"};
// Nodes of the engine's reading that carry no name of anything.
constexpr std::array<std::string_view, 22> kHarmless = {"SelectWithUnionQuery",
                                                        "SelectIntersectExceptQuery",
                                                        "SelectQuery",
                                                        "ExpressionList",
                                                        "Literal",
                                                        "TablesInSelectQuery",
                                                        "TablesInSelectQueryElement",
                                                        "TableExpression",
                                                        "TableJoin",
                                                        "ArrayJoin",
                                                        "Asterisk",
                                                        "QualifiedAsterisk",
                                                        "Subquery",
                                                        "OrderByElement",
                                                        "WithElement",
                                                        "WindowDefinition",
                                                        "WindowListElement",
                                                        "ColumnsTransformerList",
                                                        "ColumnsExceptTransformer",
                                                        "ColumnsReplaceTransformer",
                                                        "ColumnsReplaceTransformer::Replacement",
                                                        "InterpolateElement"};

// A line of EXPLAIN AST: blanks for its depth, what it is, whose name it has.
struct Node {
  std::size_t depth = 0;
  std::string_view kind;
  std::string name;
  int children = 0;
};
Node NodeOf(std::string_view line) {
  Node node;
  node.depth = std::min(line.find_first_not_of(' '), line.size());
  line.remove_prefix(node.depth);
  const std::size_t end = std::min(line.find(' '), line.size());
  node.kind = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  if (const std::size_t at = line.rfind("(children "); at != std::string_view::npos) {
    node.children = std::atoi(std::string(line.substr(at + 10)).c_str());
    line = line.substr(0, at > 0 ? at - 1 : 0);
  }
  if (const std::size_t at = line.rfind(" (alias "); at != std::string_view::npos)
    line = line.substr(0, at);
  node.name = line;
  return node;
}

template <typename List>
bool Has(const List& list, std::string_view name) {
  return std::ranges::find(list, name) != std::end(list);
}

}  // namespace

Result<SqlGuard::Known> SqlGuard::Learn(const QueryLimits& limits, const CancelToken& cancel) {
  struct Function {
    std::string name;
    std::string alias_to;
    std::uint8_t aggregate = 0;
    std::uint8_t any_case = 0;
    std::string category;
  };
  struct StoredTable {
    std::string database;
    std::string table;
    std::uint8_t ours = 0;
  };
  constexpr auto kFunctions = Columns<Function>(
      Col("f.name", &Function::name), Col("f.alias_to", &Function::alias_to),
      Col("toUInt8(f.is_aggregate)", &Function::aggregate),
      Col("toUInt8(f.case_insensitive)", &Function::any_case),
      // An alias is in the category of what it stands for.
      Col("toString(if(f.alias_to = '', f.categories, a.categories))", &Function::category));
  constexpr auto kTables = Columns<StoredTable>(
      Col("database", &StoredTable::database), Col("name", &StoredTable::table),
      Col("toUInt8(database = currentDatabase())", &StoredTable::ours));
  Known known;
  WHEREFORE_RETURN_IF_ERROR(
      QueryRows(transport_, kFunctions,
                "FROM system.functions AS f LEFT JOIN system.functions AS a ON f.alias_to = a.name",
                limits, cancel, [&](Function&& f) {
                  const std::string lower = Lower(f.name);
                  if (Has(kRefused, lower) || Has(kRefused, Lower(f.alias_to))) return;
                  const std::string& name = f.any_case != 0 ? lower : f.name;
                  if (f.aggregate != 0) {
                    if (!lower.contains("bitmap") && !lower.starts_with("timeseries"))
                      known.aggregates.insert(name);
                  } else if (Has(kCategories, f.category)) {
                    known.functions.insert(name);
                  }
                }));
  known.functions.insert(kOthers.begin(), kOthers.end());
  WHEREFORE_RETURN_IF_ERROR(
      QueryRows(transport_, kTables, "FROM system.tables", limits, cancel, [&](StoredTable&& t) {
        if (t.ours != 0 && !views_.contains(t.table)) known.tables.insert(t.table);
        known.tables.insert(t.database + "." + t.table);
      }));
  // One that is being mended is away for a moment.
  for (const TableDef& table : Tables()) {
    known.tables.insert(PhysicalName(table.id));
    if (!views_.contains(std::string(table.name))) known.tables.insert(std::string(table.name));
  }
  return known;
}

namespace {

// Judges one statement.
class Judge {
 public:
  Judge(const std::set<std::string>& views, const SqlGuard::Known& known,
        const std::vector<std::string>& lines)
      : views_(views), known_(known) {
    for (const std::string& line : lines) nodes_.push_back(NodeOf(line));
  }

  Result<SqlNames> Look() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (i == 0) WHEREFORE_RETURN_IF_ERROR(Root(nodes_[i]));
      WHEREFORE_RETURN_IF_ERROR(One(i));
    }
    return std::move(names_);
  }

 private:
  Error Refuse(const std::string& what) const {
    return {Code::kInvalid, fmt::format("{} is not allowed here: statements read {}", what,
                                        fmt::join(views_, ", "))};
  }

  // INTO OUTFILE, FORMAT and SETTINGS are further children of it.
  Result<> Root(const Node& node) const {
    if (node.kind != "SelectWithUnionQuery" && node.kind != "SelectIntersectExceptQuery")
      return Refuse("a statement other than SELECT");
    if (node.children != 1 && node.kind == "SelectWithUnionQuery")
      return Refuse("SETTINGS, FORMAT or INTO OUTFILE");
    return {};
  }

  Result<> One(std::size_t at) {
    const Node& node = nodes_[at];
    if (node.kind == "Function") {
      if (at > 0 && nodes_[at - 1].kind == "TableExpression")
        return Refuse(fmt::format("the table function '{}'", node.name));
      if (node.name == "CAST") return Cast(at);
      return Function(node.name);
    }
    if (node.kind == "TableIdentifier") return Table(node.name, true);
    // `x IN table` has its table as an identifier.
    if (node.kind == "Identifier") return Table(node.name, false);
    if (node.kind == "Set") return Refuse("SETTINGS");
    if (node.kind == "Literal" && Lower(node.name).contains("aggregatefunction"))
      return Refuse("a state of an aggregate function");
    if (node.kind == "Asterisk" || node.kind == "QualifiedAsterisk") NoteAsterisk(at);
    // NATURAL JOIN names no columns.
    if (node.kind == "TableJoin" && node.children == 0) names_.all_columns = true;
    return Has(kHarmless, node.kind) ? Result<>() : Refuse(fmt::format("'{}'", node.kind));
  }

  void NoteAsterisk(std::size_t at) {
    const bool counted = at >= 2 && nodes_[at - 1].kind == "ExpressionList" &&
                         nodes_[at - 2].kind == "Function" && Lower(nodes_[at - 2].name) == "count";
    if (!counted) names_.all_columns = true;
  }

  // To a type that is written down, not worked out.
  Result<> Cast(std::size_t at) const {
    const std::size_t arguments = nodes_[at].depth + 2;
    std::string_view last;
    for (std::size_t i = at + 1; i < nodes_.size() && nodes_[i].depth > nodes_[at].depth; ++i) {
      if (nodes_[i].depth == arguments) last = nodes_[i].kind;
    }
    return last == "Literal" ? Result<>() : Refuse("CAST to a type that is worked out");
  }

  Result<> Function(const std::string& name) const {
    const auto known = [](const std::set<std::string, std::less<>>& names, const std::string& one) {
      return names.contains(one) || names.contains(Lower(one));
    };
    if (known(known_.functions, name)) return {};
    std::string base = name;
    for (bool shorter = true; shorter;) {
      if (known(known_.aggregates, base)) return {};
      shorter = false;
      for (const std::string_view suffix : kSuffixes) {
        if (!base.ends_with(suffix) || base.size() == suffix.size()) continue;
        base.resize(base.size() - suffix.size());
        shorter = true;
        break;
      }
    }
    return Refuse(fmt::format("the function '{}'", name));
  }

  // A name that is no table at all is an alias, a column, or an error that the engine explains.
  Result<> Table(const std::string& name, bool is_table) {
    for (std::size_t at = 0; at <= name.size();) {
      const std::size_t end = std::min(name.find('.', at), name.size());
      names_.words.insert(name.substr(at, end - at));
      at = end + 1;
    }
    if (views_.contains(name)) return {};
    if ((is_table && name.contains('.')) || known_.tables.contains(name))
      return Refuse(fmt::format("the table '{}'", name));
    return {};
  }

  const std::set<std::string>& views_;
  const SqlGuard::Known& known_;
  std::vector<Node> nodes_;
  SqlNames names_;
};

// Settings of EXPLAIN could stand before anything else.
bool BeginsLikeAQuestion(std::string_view statement) {
  const std::string_view text = Trim(statement);
  if (text.starts_with('(')) return true;
  const auto end = std::ranges::find_if(text, [](unsigned char c) { return std::isalpha(c) == 0; });
  const std::string word = Lower(text.substr(0, static_cast<std::size_t>(end - text.begin())));
  return word == "select" || word == "with" || word == "from";
}

}  // namespace

Result<std::shared_ptr<const SqlGuard::Known>> SqlGuard::WhatIsKnown(const QueryLimits& limits,
                                                                     const CancelToken& cancel) {
  MutexLock lock(mutex_);
  if (known_ == nullptr) {
    WHEREFORE_ASSIGN_OR_RETURN(Known known, Learn(limits, cancel));
    known_ = std::make_shared<const Known>(std::move(known));
  }
  return known_;
}

Result<SqlNames> SqlGuard::Check(std::string_view statement, const QueryLimits& limits,
                                 const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto known, WhatIsKnown(limits, cancel));
  if (!BeginsLikeAQuestion(statement)) return Judge(views_, *known, {"Other"}).Look();
  const auto answer = transport_.ReadStatement(statement, cancel);
  if (!answer) return StatementError(answer.error());
  WHEREFORE_ASSIGN_OR_RETURN(const std::vector<std::string> lines,
                             ReadColumn<std::string>(*answer));
  return Judge(views_, *known, lines).Look();
}

namespace {

// What stands between `begin` and `end`; empty if it does not.
std::string_view Between(std::string_view text, std::string_view begin, std::string_view end) {
  const std::size_t at = text.find(begin);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + begin.size());
  return text.substr(0, text.find(end));
}

void CutAt(std::string& text, std::string_view mark) {
  if (const std::size_t at = text.find(mark); at != std::string::npos) text.resize(at);
}

}  // namespace

Error StatementError(const Error& engine_error) {
  if (engine_error.code() != Code::kInternal) return engine_error;
  std::string text = engine_error.message();
  constexpr std::string_view kException = "DB::Exception: ";
  if (const std::size_t at = text.find(kException); at != std::string::npos)
    text.erase(0, at + kException.size());
  const std::string hint(Between(text, "Maybe you meant: ['", "']"));
  if (text.starts_with("Syntax error")) {
    // The statement begins on the second line.
    const int line = std::atoi(std::string(Between(text, "(line ", ",")).c_str()) - 1;
    const std::string column(Between(text, ", col ", ")"));
    text = fmt::format("line {}, column {}: {}", line, column,
                       Between(text, fmt::format(", col {}): ", column), "(SYNTAX_ERROR)"));
    if (const std::size_t at = text.find("Expected one of: "); at != std::string::npos)
      text.replace(at, 17, "expected: ");
  } else {
    // From here on it tells of text that the person did not write.
    for (const std::string_view mark :
         {" in scope ", " In scope ", ": While ", ". While ", ": while executing", " (query "})
      CutAt(text, mark);
    while (text.ends_with(':') || text.ends_with('.')) text.pop_back();
    if (!hint.empty() && !text.contains(hint)) text += fmt::format("; did you mean {}?", hint);
  }
  constexpr std::size_t kLongest = 300;
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return {Code::kInvalid, std::string(Trim(text))};
}

}  // namespace wherefore::store
