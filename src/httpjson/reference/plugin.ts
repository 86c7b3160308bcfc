import type { DescEnum, DescFile, DescMessage, DescService } from "@bufbuild/protobuf";
import { ApiCatalogue } from "../openapi/catalogue.ts";
import { findAnnotations, type Annotations } from "../plugin/annotations.ts";
import { commentOf, firstSentence } from "../plugin/comments.ts";
import { bindingsOf, type Binding } from "../plugin/http-rule.ts";
import { textPlugin, type Input, type Output } from "../plugin/text-plugin.ts";
import { page, table } from "./markdown.ts";
import { pageName, servicePage } from "./service-page.ts";
import { Types, TYPES_PAGE } from "./types.ts";

/**
 * The protoc plugin that writes the reference of a package as Markdown: a page for each service, one for the
 * shared types, and an index. Takes the package with the option httpjson.v1.document.
 */
export const referencePlugin = textPlugin("protoc-gen-httpjson-reference", generate);

function* generate({ files, allFiles, options }: Input): Iterable<Output> {
  const annotations = findAnnotations(allFiles);
  const owner = files.find((file) => annotations.document(file) !== undefined);
  const document = owner && annotations.document(owner);
  if (owner === undefined || document === undefined) return;
  const catalogue = new ApiCatalogue(owner, document, allFiles, annotations);
  const own = files.filter((file) => file.proto.package === owner.proto.package);
  const services = own.flatMap((file) => file.services).sort(byName);
  const messages = requestsAndResponses(services);
  const types = new Types(annotations, messages, owner.proto.package);
  const bindings = services.flatMap((service) => bindingsIn(service, annotations));
  for (const service of services) {
    yield { name: pageName(service), content: servicePage(service, bindings, catalogue, types) };
  }
  const shared = own.flatMap(typesIn).filter((desc) => desc.kind === "enum" || !messages.has(desc));
  const sections = shared.sort(byName).flatMap((desc) => types.section(desc));
  yield {
    name: TYPES_PAGE,
    content: page([`# Types of ${owner.proto.package}`, "", TYPES_NOTE, "", ...sections]),
  };
  const errors = commonErrors(catalogue, options.errorsPage);
  const paged = types.pageFields([...messages]);
  const pages = paged.length === 0 ? [] : ["", "## Pages", "", ...paged];
  yield { name: "README.md", content: index(owner, services, bindings, [errors, ...pages]) };
}

function index(
  owner: DescFile,
  services: readonly DescService[],
  bindings: readonly Binding[],
  errors: readonly string[],
): string {
  const rows = services.map((service) => {
    const routes = bindings.filter(({ method }) => method.parent === service);
    return [
      `[${service.name}](${pageName(service)})`,
      firstSentence(commentOf(service)),
      routes.map(({ httpMethod, pattern }) => `\`${httpMethod} ${pattern}\``).join(", ") || "gRPC only",
    ];
  });
  return page([
    `# Reference of ${owner.proto.package}`,
    "",
    "Generated from the comments and rules of the proto files: change those, not these pages.",
    "",
    ...table(["service", "what it does", "HTTP/JSON"], rows),
    `Messages and enums that several of them use: [types](${TYPES_PAGE}).`,
    "",
    `A method's path over gRPC and Connect is \`/${owner.proto.package}.SERVICE/METHOD\`.`,
    "Its messages are METHODRequest and METHODResponse, unless it names others.",
    "",
    ...errors,
  ]);
}

/** The errors that methods do not name; empty without a catalogue. */
function commonErrors({ errors }: ApiCatalogue, errorsPage: string): string {
  const kinds = [
    ["each route", "APPLIES_EVERYWHERE"],
    ["each that reads an API key", "APPLIES_WITH_CREDENTIAL"],
    ["each with a body", "APPLIES_WITH_BODY"],
  ] as const;
  const common = kinds.flatMap(([kind, applies]) => {
    const codes = errors.filter((error) => error.applies === applies).map(({ code }) => `\`${code}\``);
    return codes.length === 0 ? [] : [`of ${kind}: ${codes.join(", ")}`];
  });
  if (common.length === 0) return "";
  const meanings = errorsPage === "" ? "" : ` [What they mean](${errorsPage}).`;
  return `Errors ${common.join("; ")}. A method names its others.${meanings}`;
}

function bindingsIn(service: DescService, annotations: Annotations): Binding[] {
  return service.methods.flatMap((method) => {
    const rule = annotations.http(method);
    return rule === undefined ? [] : bindingsOf(method, rule);
  });
}

const TYPES_NOTE =
  "[All services](README.md). In JSON an enum has the name in parentheses, and an unset `… or null` is " +
  "null. Times are in UTC; the value 0 of an enum is never sent unless it is listed.";

/** Messages that are the request or the response of one method: they are described there. */
function requestsAndResponses(services: readonly DescService[]): Set<DescMessage> {
  return new Set(services.flatMap(({ methods }) => methods.flatMap(({ input, output }) => [input, output])));
}

function typesIn(file: DescFile): (DescMessage | DescEnum)[] {
  return [...file.messages, ...file.enums];
}

function byName(one: { name: string }, other: { name: string }): number {
  return one.name < other.name ? -1 : 1;
}
