import { create } from "@bufbuild/protobuf";
import type { PaymentProof } from "#gen/toolgate/v1/payment_pb.ts";
import { type Tool as ToolMessage, ToolSchema, ToolStatus } from "#gen/toolgate/v1/tool_pb.ts";
import { GetCapabilitiesResponseSchema, ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";
import { callTool, type CallToolDeps, type ToolCallResult } from "../../../app/calls/call-tool.ts";
import { PaymentRequiredError } from "../../../app/calls/payment-required-error.ts";
import { priceCall } from "../../../app/calls/price-call.ts";
import { displayUsd } from "../../../domain/core/money.ts";
import { ASSET, NETWORK } from "../../../domain/payments/body-proof.ts";
import type { BodyProof } from "../../../domain/payments/proof.ts";
import type { ListedTool } from "../../../domain/tools/tool.ts";
import { DetailedError } from "../../error-details.ts";
import { X402Offers, type X402OffersConfig } from "../../x402/offers.ts";
import { SharedMessage } from "../../shared-message.ts";
import { settlementOfSuccess, settlementOfFailure, type SettlementReport } from "../../x402/settlement.ts";
import { idempotencyKeyOf } from "./idempotency-key.ts";
import { type PaymentConfig, PaymentRequiredMessages } from "./payment-required-message.ts";
import { receiptMessage } from "./receipt-message.ts";
import { bind, type ServiceBinding } from "../service-impl.ts";

/** Settings of x402 offers that the call dependencies lack. */
export type X402Config = Pick<X402OffersConfig, "baseUrl" | "v1">;

/** Calls and lists tools (specification 4.1 to 4.3). `version` is SemVer. */
export function toolService(
  deps: CallToolDeps,
  payment: PaymentConfig,
  x402: X402Config,
  version: string,
): ServiceBinding<typeof ToolService> {
  const { payments } = deps;
  const messages = new PaymentRequiredMessages(payment, payments);
  const capabilities = new SharedMessage((listed: readonly ListedTool[]) =>
    create(GetCapabilitiesResponseSchema, {
      tools: listed.map(toolMessage),
      version,
      network: NETWORK,
      asset: ASSET,
    }),
  );
  const offers = new X402Offers({ ...x402, payments });
  return bind(ToolService, {
    callTool: {
      key: "required",
      call(request, context) {
        const { tool, params = {}, paymentProof } = request;
        const idempotencyKey = idempotencyKeyOf(request.idempotencyKey, context.idempotencyKey);
        const { xPayment, paymentSignature, metaPayment, path, requestId, memoForm } = context;
        const proof = {
          xPayment,
          paymentSignature,
          metaPayment,
          paymentProof: paymentProof && bodyProof(paymentProof),
        };
        const notify = (report: SettlementReport | undefined) => report && context.onSettlement?.(report);
        const succeeded = ({ result, receipt }: ToolCallResult) => {
          notify(settlementOfSuccess(proof, receipt));
          return { ok: true, result, receipt: receipt && receiptMessage(receipt) };
        };
        const failed = async (error: unknown) => {
          if (!(error instanceof PaymentRequiredError)) {
            notify(settlementOfFailure(proof, error));
            throw error;
          }
          const offer = await offers.offer(error, path);
          throw DetailedError.paymentRequired(error, messages.message(error, requestId, memoForm), offer);
        };
        try {
          const called = callTool(deps, { tool, params, ...proof, idempotencyKey }, context);
          return called instanceof Promise ? called.then(succeeded).catch(failed) : succeeded(called);
        } catch (error) {
          return failed(error);
        }
      },
    },
    getPrice: {
      key: "required",
      async call({ tool, params = {} }, { caller }) {
        const { price, metered, balance, missing } = await priceCall(deps, { tool, params }, caller);
        return {
          tool,
          priceUsdcMicrousd: price,
          priceDisplay: displayUsd(price),
          balanceUsdcMicrousd: balance,
          missingUsdcMicrousd: missing,
          metered,
        };
      },
    },
    getCapabilities: {
      key: "optional",
      async call() {
        return capabilities.of(deps.catalogue.listed());
      },
    },
  });
}

function bodyProof({ txRef, network, amountUsdc, memo, quoteId, stepId }: PaymentProof): BodyProof {
  return { txRef, network, amountUsdc, memo, quoteId, stepId };
}

function toolMessage({
  name,
  status,
  billable,
  description,
  inputSchema,
  fixedPrice,
  metered = false,
}: ListedTool): ToolMessage {
  return create(ToolSchema, {
    name,
    status: status === "active" ? ToolStatus.ACTIVE : ToolStatus.COMING_SOON,
    billable,
    metered,
    description,
    inputSchema,
    price:
      fixedPrice === undefined
        ? undefined
        : { priceUsdcMicrousd: fixedPrice, priceDisplay: displayUsd(fixedPrice) },
  });
}
