// The REST API as a list, from openapi.json; nothing is loaded from elsewhere.

import { fetchJson, Problem } from "./api.js";
import { byId, element } from "./dom.js";
import { sentence } from "./format.js";

const METHODS = ["get", "post", "put", "delete"];
const PREFIX = "#/components/schemas/";

/** The name of a type, with links to the ones described below: `list of Movement`, `number or null`. */
function typeName(schema) {
  if (!schema) return ["anything"];
  if (schema.$ref) return [typeLink(schema.$ref.slice(PREFIX.length))];
  if (schema.const !== undefined) return [JSON.stringify(schema.const)];
  if (schema.enum) return [schema.enum.map((each) => JSON.stringify(each)).join(" | ")];
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return choices.flatMap((each, place) => (place ? [" or ", ...typeName(each)] : typeName(each)));
  if (schema.type === "array") return ["list of ", ...typeName(schema.items)];
  if (schema.type === "object" && schema.additionalProperties?.type) {
    return ["names with ", ...typeName(schema.additionalProperties)];
  }
  return [schema.format === "binary" ? "file" : (schema.type ?? "anything") + range(schema)];
}

const typeLink = (name) => element("a", { href: `#type-${name}` }, name);

function range({ minimum, maximum }) {
  if (minimum !== undefined && maximum !== undefined) return ` ${minimum} to ${maximum}`;
  return minimum === undefined ? "" : ` from ${minimum}`;
}

function table(heads, rows) {
  const head = element("tr", {}, heads.map((each) => element("th", { scope: "col" }, each)));
  const body = rows.map((cells) => element("tr", {}, cells.map((cell) => element("td", {}, cell))));
  return element("table", {}, element("thead", {}, head), element("tbody", {}, body));
}

function fields(schema) {
  const needed = new Set(schema.required ?? []);
  return Object.entries(schema.properties ?? {}).map(([name, each]) => [
    element("code", {}, name),
    [...typeName(each), needed.has(name) ? "" : ", optional"],
    each.description ?? "",
  ]);
}

/** One call: its fields, its responses, and curl. */
function call(path, method, operation) {
  const body = operation.requestBody?.content ?? {};
  const [kind, content] = Object.entries(body)[0] ?? [];
  const parts = [];
  if (operation.description) parts.push(element("p", {}, operation.description));
  if (operation.parameters?.length) {
    const rows = operation.parameters.map((each) => [
      element("code", {}, each.name), [...typeName(each.schema), `, in the ${each.in}`], each.description ?? "",
    ]);
    parts.push(element("h3", {}, "Parameters"), table(["Name", "Type", "Meaning"], rows));
  }
  if (content) parts.push(element("h3", {}, `Body (${kind})`), table(["Field", "Type", "Meaning"], fields(content.schema)));
  const rows = Object.entries(operation.responses).map(([status, response]) => [
    element("code", {}, status), responseType(response), response.description ?? "",
  ]);
  parts.push(element("h3", {}, "Responses"), table(["Status", "Type", "Meaning"], rows));
  parts.push(element("pre", {}, element("code", {}, curl(path, method, content?.schema))));
  const heading = element("summary", {},
    element("span", { class: "method" }, method.toUpperCase()), element("code", {}, path),
    element("span", { class: "note" }, operation.summary ?? ""));
  return element("details", { class: "card call" }, heading, parts);
}

function responseType(response) {
  const [kind, content] = Object.entries(response.content ?? {})[0] ?? [];
  if (!kind) return "";
  return content.schema && kind === "application/json" ? typeName(content.schema) : kind;
}

function curl(path, method, form) {
  const options = method === "get" ? "" : ` -X ${method.toUpperCase()}`;
  const names = Object.keys(form?.properties ?? {});
  const file = names.find((name) => form.properties[name].items?.format === "binary");
  const data = form ? ` -F ${file ? `${file}=@clip.mp4` : `${names[0]}=...`}` : "";
  return `curl${form ? "" : options}${data} ${location.origin}${path}`;
}

function type(name, schema) {
  const open = location.hash === `#type-${name}`;
  return element("details", { class: "card call", id: `type-${name}`, open },
    element("summary", {}, element("code", {}, name), element("span", { class: "note" }, schema.description ?? "")),
    table(["Field", "Type", "Meaning"], fields(schema)));
}

function openTarget() {
  const target = document.getElementById(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) target.open = true;
}

async function show() {
  try {
    const api = await fetchJson("/openapi.json");
    const calls = Object.entries(api.paths).flatMap(([path, operations]) =>
      METHODS.filter((each) => operations[each]).map((each) => call(path, each, operations[each])));
    byId("calls").replaceChildren(...calls);
    byId("types").replaceChildren(...Object.entries(api.components.schemas).map(([name, each]) => type(name, each)));
    byId("types-title").hidden = false;
    addEventListener("hashchange", openTarget);
    openTarget();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    byId("calls").replaceChildren(element("p", { class: "card warning", role: "alert" }, `${sentence(error.problem)} ${sentence(error.fix)}`));
  }
}

show();
