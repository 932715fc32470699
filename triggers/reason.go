package triggers

// The reasons of a decision.
const (
	ReasonOwnRecord      Reason = "own_record"       // the record is the target's own
	ReasonLoggedID       Reason = "logged_id"        // its id stands in the record
	ReasonIndexNamed     Reason = "index_named"      // the hot-object index named it
	ReasonOwnLikely      Reason = "own_likely"       // an object's own record, no frame in user code
	ReasonNoObjectNamed  Reason = "no_object_named"  // nothing names the object that was called
	ReasonPassedThrough  Reason = "passed_through"   // the error came through this object's code
	ReasonSeveralObjects Reason = "several_objects"  // several ids are logged
	ReasonClassOnly      Reason = "class_only"       // the class is known, the object is not
	ReasonNoScript       Reason = "no_script"        // the record names no Worker
	ReasonAccountWide    Reason = "account_wide"     // no single object to profile
	ReasonReportOnly     Reason = "report_only"      // the rule wants no capture
	ReasonNoTrouble      Reason = "no_trouble"       // no class
	ReasonLookAlike      Reason = "look_alike"       // reads like a class and is none
	ReasonNoRule         Reason = "no_rule"          // no rule matches
	ReasonBelowCount     Reason = "below_count"      // too few in the window so far
	ReasonNotReturned    Reason = "not_returned"     // not quiet for long enough before
	ReasonRuleIgnores    Reason = "rule_ignores"     // the rule says ignore
	ReasonSilenced       Reason = "silenced"         // a silence covers it
	ReasonAlertEnded     Reason = "alert_ended"      // the notification that an alert is over
	ReasonJoined         Reason = "incident_is_open" // an open incident covers it
)
