import { create } from "@bufbuild/protobuf";
import type { PaymentProof } from "#gen/toolgate/v1/payment_pb.ts";
import { type Tool as ToolMessage, ToolSchema, ToolStatus } from "#gen/toolgate/v1/tool_pb.ts";
import { GetCapabilitiesResponseSchema, ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";
import { callTool, type CallToolDeps } from "../../app/call-tool.ts";
import { PaymentRequiredError } from "../../app/payment-required.ts";
import { displayUsd } from "../../domain/money.ts";
import { ASSET, NETWORK, type BodyProof } from "../../domain/proof.ts";
import type { Tool } from "../../domain/tool.ts";
import { DetailedError } from "../error-details.ts";
import { idempotencyKeyOf } from "./idempotency-key.ts";
import { type PaymentConfig, PaymentRequiredMessages } from "./payment-required-message.ts";
import { receiptMessage } from "./receipt-message.ts";
import { bind, type ServiceBinding } from "./service-impl.ts";

/** Runs tools and lists them (specification 4.1 to 4.3). `version` is SemVer. */
export function toolService(
  deps: CallToolDeps,
  payment: PaymentConfig,
  version: string,
): ServiceBinding<typeof ToolService> {
  const offers = new PaymentRequiredMessages(payment);
  return bind(ToolService, {
    callTool: {
      key: "required",
      async call(request, context) {
        const { tool, params = {}, paymentProof } = request;
        const idempotencyKey = idempotencyKeyOf(request.idempotencyKey, context.idempotencyKey);
        const proof = paymentProof && bodyProof(paymentProof);
        try {
          const call = { tool, params, xPayment: context.xPayment, paymentProof: proof, idempotencyKey };
          const { result, receipt } = await callTool(deps, call, context);
          return { ok: true, result, receipt: receipt && receiptMessage(receipt) };
        } catch (error) {
          if (!(error instanceof PaymentRequiredError)) throw error;
          throw DetailedError.paymentRequired(error, offers.message(error, context.requestId, context.memoForm));
        }
      },
    },
    getCapabilities: {
      key: "optional",
      async call() {
        const tools = deps.catalogue.tools.map(toolMessage);
        return create(GetCapabilitiesResponseSchema, { tools, version, network: NETWORK, asset: ASSET });
      },
    },
  });
}

function bodyProof({ txRef, network, amountUsdc, memo, quoteId, stepId }: PaymentProof): BodyProof {
  return { txRef, network, amountUsdc, memo, quoteId, stepId };
}

function toolMessage({ name, status, billable, description, inputSchema, fixedPrice }: Tool): ToolMessage {
  return create(ToolSchema, {
    name,
    status: status === "active" ? ToolStatus.ACTIVE : ToolStatus.COMING_SOON,
    billable,
    description,
    inputSchema,
    price:
      fixedPrice === undefined ? undefined : { priceUsdcMicrousd: fixedPrice, priceDisplay: displayUsd(fixedPrice) },
  });
}
