import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { type Client, status } from "@grpc/grpc-js";
import { afterAll, beforeAll } from "vitest";
import type { Agent, World } from "../../support/world.ts";
import { callGrpc, failureOf, grpcClient } from "../grpc-client.ts";

export interface Operator {
  agent: Agent;
  client: Client;
  /** Calls a method, as the operator unless another is named. */
  call<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    agent?: Agent,
    through?: Client,
  ): Promise<MessageShape<O>>;
}

/** An operator with a gRPC client, for the tests of a file. */
export function useOperator(world: World): Operator {
  const operator = {
    async call(method, request, agent = operator.agent, through = operator.client) {
      const metadata = { authorization: `Bearer ${agent.apiKey}` };
      return (await callGrpc(through, method, request, { metadata })).message;
    },
  } as Operator;
  beforeAll(async () => {
    operator.client = grpcClient(world.gateway.grpcAddress);
    operator.agent = await world.agent({ operator: true });
  });
  afterAll(() => operator.client.close());
  return operator;
}

export async function codeOf(answer: Promise<unknown>): Promise<string | undefined> {
  return status[(await failureOf(answer)).code];
}
