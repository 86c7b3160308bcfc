import { once } from "node:events";
import { connect } from "node:http2";
import { promisify } from "node:util";
import { create, toBinary } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { ServerReflectionRequestSchema } from "#gen/grpc/reflection/v1/reflection_pb.ts";
import { startGateway } from "../gateway.ts";

const QUESTIONS = 200;

/** A request that its response echoes, 1 kB each. */
function question(): Buffer {
  const messageRequest = { case: "fileContainingSymbol", value: "x".repeat(1_000) } as const;
  const bytes = toBinary(
    ServerReflectionRequestSchema,
    create(ServerReflectionRequestSchema, { messageRequest }),
  );
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([prefix, bytes]);
}

it("stops reading reflection requests until responses are read", async () => {
  const gateway = await startGateway();
  const session = connect(`http://${gateway.grpcAddress}`, { settings: { initialWindowSize: 0 } });
  await once(session, "connect");
  const ping = promisify(session.ping.bind(session));
  const stream = session.request({
    ":method": "POST",
    ":path": "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "content-type": "application/grpc",
    te: "trailers",
  });
  let taken = false;
  stream.write(Buffer.concat(Array.from({ length: QUESTIONS }, question)), () => (taken = true));
  stream.end();
  for (let pings = 0; pings < 500; pings++) await ping();
  expect(taken).toBe(false);
  session.settings({ initialWindowSize: 1024 * 1024 });
  const answers = Buffer.concat(await stream.toArray()).toString("latin1");
  expect(answers.split("unknown file, symbol or extension").length - 1).toBe(QUESTIONS);
  expect(taken).toBe(true);
  session.destroy();
  await gateway.close();
});
