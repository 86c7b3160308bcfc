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

/** Returns true when the value is certainly valid. False means unknown: the full rules decide. */
type FastCheck<Value> = (value: Value) => boolean;

/** Rules this fast path understands. */
const KNOWN_FIELD_RULES = new Set(["required", "string"]);
const KNOWN_STRING_RULES = new Set(["min_len", "max_len", "pattern"]);

/** Well-known types have no rules and contain themselves. */
const NO_RULES_PREFIX = "google.protobuf.";

/** Fast path for required fields, string lengths and patterns only. @returns undefined for other rules */
export function fastValidator(schema: DescMessage): FastCheck<Message> | undefined {
  return messageCheck(schema, []);
}

/** @param within the enclosing messages */
function messageCheck(schema: DescMessage, within: readonly DescMessage[]): FastCheck<Message> | undefined {
  const unsupported =
    hasOption(schema, messageRules) || schema.oneofs.some((oneof) => hasOption(oneof, oneofRules));
  if (unsupported || within.includes(schema)) return undefined;
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
    // String rules may apply to a wrapper type.
    return rules?.type.case === undefined ? submessageCheck(field.message, required, within) : undefined;
  if (!rules) return field.fieldKind === "scalar" || field.fieldKind === "enum" ? alwaysValid : undefined;
  const { type } = rules;
  if (field.fieldKind !== "scalar" || field.scalar !== ScalarType.STRING || type.case !== "string")
    return undefined;
  return hasOnly(reflect(StringRulesSchema, type.value), KNOWN_STRING_RULES)
    ? stringCheck(type.value, required)
    : undefined;
}

/** Returns whether only the named rules are set; extensions count as other rules. */
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

/** UTF-16 length is between one and two times the number of code points. */
function stringCheck({ minLen, maxLen, pattern }: StringRules, required: boolean): FastCheck<unknown> {
  const [least, most] = [Number(minLen), maxLen === 0n ? Number.POSITIVE_INFINITY : Number(maxLen)];
  const form = pattern === "" ? undefined : new RegExp(pattern, "u");
  return (value) => {
    if (value === undefined) return !required;
    if (typeof value !== "string" || (required && value === "")) return false;
    return value.length >= 2 * least - 1 && value.length <= most && (form?.test(value) ?? true);
  };
}
