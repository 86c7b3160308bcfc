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
type FastCheck<Value> = (value: Value) => boolean;

/** Rules of a field that are known here. */
const KNOWN_FIELD_RULES = new Set(["required", "string"]);
const KNOWN_STRING_RULES = new Set(["min_len", "max_len", "pattern"]);

/** Messages whose rules are none, and which contain themselves. */
const NO_RULES_PREFIX = "google.protobuf.";

/**
 * A quick look at messages whose rules (buf.validate) are of the plain kind, that strings have some length and pattern and that fields
 * are set, for the many that keep them: it takes a tenth of what the full rules take, which are asked about all others.
 * @returns undefined for a message that has any other rule
 */
export function fastValidator(schema: DescMessage): FastCheck<Message> | undefined {
  return messageCheck(schema, []);
}

/** @param within the messages that it is a part of */
function messageCheck(schema: DescMessage, within: readonly DescMessage[]): FastCheck<Message> | undefined {
  const strange =
    hasOption(schema, messageRules) || schema.oneofs.some((oneof) => hasOption(oneof, oneofRules));
  if (strange || within.includes(schema)) return undefined;
  const checks: FastCheck<Message>[] = [];
  for (const field of schema.fields) {
    const check = fieldCheck(field, [...within, schema]);
    if (!check) return undefined;
    const { localName } = field;
    if (check !== alwaysValid) checks.push((message) => check(Reflect.get(message, localName)));
  }
  return (message) => checks.every((check) => check(message));
}

function alwaysValid(): boolean {
  return true;
}

function fieldCheck(field: DescField, within: readonly DescMessage[]): FastCheck<unknown> | undefined {
  const rules = hasOption(field, fieldRules) ? getOption(field, fieldRules) : undefined;
  if (rules && !hasOnly(reflect(FieldRulesSchema, rules), KNOWN_FIELD_RULES)) return undefined;
  const required = rules?.required ?? false;
  if (field.oneof) return undefined;
  if (field.fieldKind === "message")
    // Rules of a string may be about one that is wrapped.
    return rules?.type.case === undefined ? submessageCheck(field.message, required, within) : undefined;
  if (!rules) return field.fieldKind === "scalar" || field.fieldKind === "enum" ? alwaysValid : undefined;
  const { type } = rules;
  if (field.fieldKind !== "scalar" || field.scalar !== ScalarType.STRING || type.case !== "string")
    return undefined;
  return hasOnly(reflect(StringRulesSchema, type.value), KNOWN_STRING_RULES)
    ? stringCheck(type.value, required)
    : undefined;
}

/** Whether there are no rules but those; predefined ones of somebody's own are extensions. */
function hasOnly(rules: ReflectMessage, names: ReadonlySet<string>): boolean {
  if ((rules.getUnknown()?.length ?? 0) > 0) return false;
  return rules.fields.every((field) => !rules.isSet(field) || names.has(field.name));
}

function submessageCheck(
  schema: DescMessage,
  required: boolean,
  within: readonly DescMessage[],
): FastCheck<unknown> | undefined {
  if (schema.typeName.startsWith(NO_RULES_PREFIX)) return (value) => value !== undefined || !required;
  const part = messageCheck(schema, within);
  return part && ((value) => (value === undefined ? !required : isMessage(value, schema) && part(value)));
}

/** A length is at least half of what UTF-16 says, and at most all of it. */
function stringCheck({ minLen, maxLen, pattern }: StringRules, required: boolean): FastCheck<unknown> {
  const [least, most] = [Number(minLen), maxLen === 0n ? Number.POSITIVE_INFINITY : Number(maxLen)];
  const form = pattern === "" ? undefined : new RegExp(pattern, "u");
  return (value) => {
    if (value === undefined) return !required;
    if (typeof value !== "string" || (required && value === "")) return false;
    return value.length >= 2 * least - 1 && value.length <= most && (form?.test(value) ?? true);
  };
}
