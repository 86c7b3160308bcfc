import {
  type DescField,
  type DescMessage,
  getOption,
  hasOption,
  isMessage,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf";
import { reflect, type ReflectMessage } from "@bufbuild/protobuf/reflect";
import {
  field as fieldRules,
  FieldRulesSchema,
  message as messageRules,
  oneof as oneofRules,
  type StringRules,
  StringRulesSchema,
} from "#gen/buf/validate/validate_pb.ts";

/** Whether a message, or a field's value, is good beyond doubt. False says nothing: the full rules decide then. */
type SurelyGood<Value> = (value: Value) => boolean;

/** Rules of a field that are known here. */
const KNOWN_OF_FIELD = new Set(["required", "string"]);
const KNOWN_OF_STRING = new Set(["min_len", "max_len", "pattern"]);

/** Messages whose rules are none, and which contain themselves. */
const RULELESS = "google.protobuf.";

/**
 * A quick look at messages whose rules (buf.validate) are of the plain kind, that strings have some length and pattern and that fields
 * are set, for the many that keep them: it takes a tenth of what the full rules take, which are asked about all others.
 * @returns undefined for a message that has any other rule
 */
export function plainRules(schema: DescMessage): SurelyGood<Message> | undefined {
  return ofMessage(schema, []);
}

/** @param within the messages that it is a part of */
function ofMessage(schema: DescMessage, within: readonly DescMessage[]): SurelyGood<Message> | undefined {
  const strange =
    hasOption(schema, messageRules) || schema.oneofs.some((oneof) => hasOption(oneof, oneofRules));
  if (strange || within.includes(schema)) return undefined;
  const checks: SurelyGood<Message>[] = [];
  for (const field of schema.fields) {
    const check = ofField(field, [...within, schema]);
    if (!check) return undefined;
    const { localName } = field;
    if (check !== anything) checks.push((message) => check(Reflect.get(message, localName)));
  }
  return (message) => checks.every((check) => check(message));
}

function anything(): boolean {
  return true;
}

function ofField(field: DescField, within: readonly DescMessage[]): SurelyGood<unknown> | undefined {
  const rules = hasOption(field, fieldRules) ? getOption(field, fieldRules) : undefined;
  if (rules && !knows(reflect(FieldRulesSchema, rules), KNOWN_OF_FIELD)) return undefined;
  const required = rules?.required ?? false;
  if (field.oneof) return undefined;
  if (field.fieldKind === "message")
    // Rules of a string may be about one that is wrapped.
    return rules?.type.case === undefined ? ofPart(field.message, required, within) : undefined;
  if (!rules) return field.fieldKind === "scalar" || field.fieldKind === "enum" ? anything : undefined;
  const { type } = rules;
  if (field.fieldKind !== "scalar" || field.scalar !== ScalarType.STRING || type.case !== "string")
    return undefined;
  return knows(reflect(StringRulesSchema, type.value), KNOWN_OF_STRING)
    ? ofString(type.value, required)
    : undefined;
}

/** Whether there are no rules but those; predefined ones of somebody's own are extensions. */
function knows(rules: ReflectMessage, names: ReadonlySet<string>): boolean {
  if ((rules.getUnknown()?.length ?? 0) > 0) return false;
  return rules.fields.every((field) => !rules.isSet(field) || names.has(field.name));
}

function ofPart(
  schema: DescMessage,
  required: boolean,
  within: readonly DescMessage[],
): SurelyGood<unknown> | undefined {
  if (schema.typeName.startsWith(RULELESS)) return (value) => value !== undefined || !required;
  const part = ofMessage(schema, within);
  return part && ((value) => (value === undefined ? !required : isMessage(value, schema) && part(value)));
}

/** A length is at least half of what UTF-16 says, and at most all of it. */
function ofString({ minLen, maxLen, pattern }: StringRules, required: boolean): SurelyGood<unknown> {
  const [least, most] = [Number(minLen), maxLen === 0n ? Number.POSITIVE_INFINITY : Number(maxLen)];
  const form = pattern === "" ? undefined : new RegExp(pattern, "u");
  return (value) => {
    if (value === undefined) return !required;
    if (typeof value !== "string" || (required && value === "")) return false;
    return value.length >= 2 * least - 1 && value.length <= most && (form?.test(value) ?? true);
  };
}
