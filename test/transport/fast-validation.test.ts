import { create, type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf";
import { reflect, type ReflectMessage } from "@bufbuild/protobuf/reflect";
import { createValidator } from "@bufbuild/protovalidate";
import { describe, expect, it } from "vitest";
import { CreateKeyRequestSchema, KeyService } from "#gen/toolgate/v1/key_service_pb.ts";
import { PaymentService } from "#gen/toolgate/v1/payment_service_pb.ts";
import { GetReceiptRequestSchema, ReceiptService } from "#gen/toolgate/v1/receipt_service_pb.ts";
import { ListRunsRequestSchema, RunService } from "#gen/toolgate/v1/run_service_pb.ts";
import { CallToolRequestSchema, ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";
import { fastValidator } from "../../src/transport/fast-validation.ts";

const LENGTHS = [
  0, 1, 2, 39, 40, 41, 63, 64, 65, 100, 101, 127, 128, 129, 200, 201, 255, 256, 257, 566, 567, 2_000,
];
const LETTERS = ["x", "é", "😀", "\t", "\0", " "];
const TEXTS = LETTERS.flatMap((letter) => LENGTHS.map((length) => letter.repeat(length)));

const validator = createValidator();

const isText = (field: DescField) => field.fieldKind === "scalar" && field.scalar === ScalarType.STRING;

/** Fills a message with usually valid texts. */
function filled(schema: DescMessage): ReflectMessage {
  const message = reflect(schema, create(schema));
  for (const field of schema.fields) {
    if (isText(field)) message.set(field, "x");
    if (field.fieldKind === "message")
      message.set(
        field,
        field.message.typeName.startsWith("google.") ? reflect(field.message) : filled(field.message),
      );
  }
  return message;
}

/** Yields messages that differ from a valid one in one field. */
function* variations(schema: DescMessage, whole = filled(schema), part = whole): Generator<Message> {
  yield whole.message;
  for (const field of part.fields) {
    const before = part.get(field);
    for (const text of isText(field) ? TEXTS : []) {
      part.set(field, text);
      yield whole.message;
    }
    if (field.fieldKind === "message" && !field.message.typeName.startsWith("google."))
      yield* variations(schema, whole, part.get(field));
    part.clear(field);
    yield whole.message;
    part.set(field, before);
  }
}

describe("fast validation", () => {
  it("accepts no message that the full rules reject", () => {
    const services = [ToolService, ReceiptService, RunService, PaymentService, KeyService];
    const wrong: Message[] = [];
    for (const { input } of services.flatMap(({ methods }) => methods)) {
      const good = fastValidator(input);
      for (const message of good ? variations(input) : [])
        if (good?.(message) && validator.validate(input, message).kind !== "valid")
          wrong.push(structuredClone(message));
    }
    expect(wrong).toEqual([]);
  });

  it.each([CallToolRequestSchema, GetReceiptRequestSchema])("accepts usual messages: $typeName", (schema) => {
    expect(fastValidator(schema)?.(filled(schema).message)).toBe(true);
  });

  it.each([ListRunsRequestSchema, CreateKeyRequestSchema])(
    "skips messages with integer and list rules: $typeName",
    (schema) => {
      expect(fastValidator(schema)).toBeUndefined();
    },
  );
});
