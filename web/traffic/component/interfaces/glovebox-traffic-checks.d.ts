/** @module Interface glovebox:traffic/checks@0.1.0 **/
export function rules(): Array<Rule>;
export type Span = import('./glovebox-traffic-types.js').Span;
export type Part = import('./glovebox-traffic-types.js').Part;
export type Exchange = import('./glovebox-traffic-types.js').Exchange;
/**
 * # Variants
 * 
 * ## `"info"`
 * 
 * ## `"low"`
 * 
 * ## `"medium"`
 * 
 * ## `"high"`
 */
export type Severity = 'info' | 'low' | 'medium' | 'high';
/**
 * # Variants
 * 
 * ## `"tentative"`
 * 
 * ## `"firm"`
 * 
 * ## `"certain"`
 */
export type Confidence = 'tentative' | 'firm' | 'certain';
export interface Finding {
  code: string,
  title: string,
  cwe?: number,
  owasp: string,
  severity: Severity,
  confidence: Confidence,
  part: Part,
  place?: Span,
  evidence: string,
  subject: string,
  origin: string,
  key: string,
}
export interface Rule {
  code: string,
  title: string,
  cwe?: number,
  owasp: string,
  severity: Severity,
  remedy: string,
}

export class Checker {
  constructor(key: Uint8Array, nowMs: bigint)
  push(exchange: Exchange): Array<Finding>;
}
