/** @module Interface glovebox:traffic/issues@0.1.0 **/
export function normalize(issue: Issue): Issue;
export function key(issue: Issue): string;
export function report(issues: Array<Issue>, format: ReportFormat, version: string): string;
export type Severity = import('./glovebox-traffic-checks.js').Severity;
export type Confidence = import('./glovebox-traffic-checks.js').Confidence;
export interface Issue {
  name: string,
  detail: string,
  baseUrl: string,
  severity: Severity,
  confidence: Confidence,
  remediation: string,
  background: string,
  cwe?: number,
  count: number,
  exchanges: Array<string>,
}
export interface InvalidField {
  field: string,
  message: string,
}
/**
 * # Variants
 * 
 * ## `"markdown"`
 * 
 * ## `"sarif"`
 */
export type ReportFormat = 'markdown' | 'sarif';
