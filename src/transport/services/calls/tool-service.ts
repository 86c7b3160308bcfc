import { create } from "@bufbuild/protobuf";
import type { PaymentProof } from "#gen/toolgate/v1/payment_pb.ts";
import { type Tool as ToolMessage, ToolSchema, ToolStatus } from "#gen/toolgate/v1/tool_pb.ts";
import { GetCapabilitiesResponseSchema, ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";
import { describedForModels } from "../../../app/calls/catalogue.ts";
import { callTool, type CallToolDeps } from "../../../app/calls/call-tool.ts";
import type { ToolCallResult } from "../../../app/calls/run-and-capture.ts";
import { PaymentRequiredError } from "../../../app/calls/call-errors.ts";
import { priceCall } from "../../../app/calls/price-call.ts";
import { displayUsd } from "../../../domain/core/money.ts";
import { ASSET } from "../../../domain/payments/body-proof.ts";
import { SOLANA } from "../../../domain/payments/payment-id.ts";
import type { BodyProof } from "../../../domain/payments/proof.ts";
import type { ListedTool } from "../../../domain/tools/tool.ts";
import { DetailedError } from "../../error-details.ts";
import type { QuoteOffers } from "../../offers.ts";
import { SharedMessage } from "../../shared-message.ts";
import { idempotencyKeyOf } from "../request-fields.ts";
import type { PaymentRequiredMessages } from "./payment-required-message.ts";
import { noteResult } from "./note-result.ts";
import { PaymentReport } from "./payment-report.ts";
import { receiptMessage } from "./receipt-message.ts";
import { bind, KEY, type ServiceBinding } from "../../endpoint.ts";

export interface OfferForms {
  readonly offers: QuoteOffers;
  readonly messages: PaymentRequiredMessages;
}

/** Calls and lists tools (specification 4.1 to 4.3). `version` is SemVer. */
export function toolService(
  deps: CallToolDeps,
  { offers, messages }: OfferForms,
  version: string,
): ServiceBinding {
  const capabilities = new SharedMessage((listed: readonly ListedTool[]) =>
    create(GetCapabilitiesResponseSchema, {
      tools: listed.map(toolMessage),
      version,
      network: SOLANA,
      asset: ASSET,
    }),
  );
  return bind(ToolService, KEY, {
    callTool(request, context) {
      const { tool, params = {}, paymentProof } = request;
      if (context.record) context.record.params = params;
      const idempotencyKey = idempotencyKeyOf(request.idempotencyKey, context.idempotencyKey);
      const { xPayment, paymentSignature, metaPayment, requestId, memoForm } = context;
      const { credential, metaCredential, body } = context;
      const proof = {
        xPayment,
        paymentSignature,
        metaPayment,
        credential,
        metaCredential,
        body,
        paymentProof: paymentProof && bodyProof(paymentProof),
      };
      const report = new PaymentReport(context, proof, deps.clock);
      const succeeded = ({ result, receipt }: ToolCallResult) => {
        noteResult(context.record, result, receipt);
        report.succeeded(receipt);
        return { ok: true, result, receipt: receipt && receiptMessage(receipt) };
      };
      const failed = async (error: unknown) => {
        if (!(error instanceof PaymentRequiredError)) {
          report.failed(error);
          throw error;
        }
        const message = messages.message(error, requestId, memoForm);
        throw DetailedError.paymentRequired(error, message, await offers.offer(error, context));
      };
      try {
        const toolCall = { tool, params, form: context.form, ...proof, idempotencyKey };
        const called = callTool(deps, toolCall, report.atStart(context));
        return called instanceof Promise ? called.then(succeeded).catch(failed) : succeeded(called);
      } catch (error) {
        return failed(error);
      }
    },
    async getPrice({ tool, params = {} }, { caller, record, form }) {
      const call = { tool, params, form };
      const { price, metered, balance, missing } = await priceCall(deps, call, caller, record);
      return {
        tool,
        priceUsdcMicrousd: price,
        priceDisplay: displayUsd(price),
        balanceUsdcMicrousd: balance,
        missingUsdcMicrousd: missing,
        metered,
      };
    },
    getCapabilities: {
      key: "optional",
      async handle() {
        return capabilities.of(deps.catalogue.listed());
      },
    },
  });
}

function bodyProof({ txRef, network, amountUsdc, memo, quoteId, stepId }: PaymentProof): BodyProof {
  return { txRef, network, amountUsdc, memo, quoteId, stepId };
}

function toolMessage(tool: ListedTool): ToolMessage {
  const { name, status, unavailableReason, billable, inputSchema } = tool;
  const { fixedPrice, maxPrice, metered = false } = tool;
  return create(ToolSchema, {
    name,
    status: status === "active" ? ToolStatus.ACTIVE : ToolStatus.COMING_SOON,
    ...(unavailableReason !== undefined && { unavailableReason }),
    billable,
    metered,
    description: describedForModels(tool),
    inputSchema,
    ...(fixedPrice !== undefined && { price: priceMessage(fixedPrice) }),
    ...(maxPrice !== undefined && { maxPrice: priceMessage(maxPrice) }),
  });
}

function priceMessage(price: bigint) {
  return { priceUsdcMicrousd: price, priceDisplay: displayUsd(price) };
}
