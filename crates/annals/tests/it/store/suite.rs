//! What every backend must do. Each function takes an empty store; a backend runs them all with [`on_every_case`].

pub mod accounts;
pub mod anchors;
pub mod chain;
pub mod commits;
pub mod field;
pub mod filters;
pub mod freshness;
pub mod gaps;
pub mod named;
pub mod pages;
pub mod payloads;
pub mod upgrades;
pub mod wallets;

/// Makes one test of each case of the suite, on the backend that `$factory` makes a fixture of.
macro_rules! on_every_case {
    ($factory:expr) => {
        on_every_case! { $factory;
            accounts: [
                an_account_is_told_its_roles_in_the_order_of_the_topics_and_each_event_once,
                quarantine_makes_answers_to_accounts_incomplete_and_nothing_else,
                a_schema_that_is_declared_late_changed_and_taken_back_is_never_taken_for_read,
                an_asset_contract_is_recognised_by_its_events_and_begins_with_the_network,
                a_creation_tells_origin_and_kind_and_brings_nothing_into_scope,
            ];
            anchors: [
                only_a_stored_ledgers_own_hash_is_confirmed_and_else_nothing_is_written,
                of_each_chain_the_highest_confirmation_of_each_kind_is_told,
            ];
            chain: [
                inv_4_every_stored_ledger_hashes_and_links,
                a_batch_that_does_not_link_to_a_stored_neighbour_is_refused_on_both_sides,
                another_hash_for_a_stored_ledger_is_an_incident_and_stops_writing_until_resolved,
                stored_ledgers_that_are_not_of_one_chain_are_an_incident_until_it_is_resolved_for_good,
                nothing_ties_a_silent_first_ledger_to_the_network_but_a_pin_or_a_neighbour,
                another_network_and_another_policy_are_refused_before_any_write,
                a_pin_that_the_chain_contradicts_is_refused_before_any_write,
                a_pin_is_kept_whenever_it_came,
                a_batch_that_contradicts_the_pin_just_below_it_is_refused,
            ];
            commits: [
                a_commit_is_there_after_a_restart,
                committing_the_same_again_changes_nothing,
                inv_2_coverage_grows_only_for_ledgers_that_were_stored,
                inv_3_other_bytes_under_a_stored_position_are_an_incident_that_keeps_both,
                inv_3_another_transaction_under_a_stored_position_is_an_incident,
                inv_7_the_holder_of_an_old_fence_writes_nothing,
                inv_11_the_watermark_never_moves_back,
                nothing_is_stored_before_the_first_request,
                a_page_never_shows_what_was_committed_after_its_feed_position,
                a_new_contract_gets_its_events_of_stored_ledgers_and_its_own_coverage,
                only_ledgers_with_a_proven_event_in_scope_keep_proof_material,
                the_counts_of_events_equal_the_events_themselves,
            ];
            field: [
                b3_ranges_tell_silent_ledgers_from_skipped_ones,
                c1_three_identical_events_of_one_transaction_are_three,
                c4_rows_inserted_in_any_order_page_alike,
                c9_equal_bytes_at_two_positions_are_two_events_and_other_bytes_at_one_are_surfaced,
                f1_twelve_thousand_events_in_one_transaction_and_fifty_thousand_in_one_ledger,
                f3_a_duplicate_inside_one_batch,
            ];
            filters: [
                d4_events_of_any_number_of_topics_are_all_there,
                filters_find_what_a_plain_search_finds,
                topics_of_many_kilobytes_are_told_apart_by_their_last_byte,
                a_filter_that_no_index_serves_ends_its_page_early_and_goes_on,
                a_page_begun_before_an_upgrade_finds_events_by_the_topics_they_had,
            ];
            freshness: [
                what_a_follower_says_replaces_what_it_said_before_and_is_there_after_a_restart,
                the_follower_without_the_lease_says_nothing,
                saying_that_one_lives_uses_no_feed_position_and_changes_no_page,
                a_tip_that_is_only_repeated_grows_old,
                no_time_but_that_of_a_close_is_kept_behind_the_sign_of_life,
            ];
            gaps: [
                b5_a_fill_that_fails_stays_listed_with_its_attempts_and_nothing_is_dropped,
                a_request_lists_only_what_is_not_covered_and_keeps_what_is_listed,
                lowering_the_start_is_told_once,
                coverage_of_all_contracts_fills_the_gaps_of_each,
                gaps_at_the_ends_of_the_sequence_numbers_neither_wrap_nor_panic,
            ];
            named: [
                a_contract_added_later_opens_its_own_coverage_and_changes_nothing_else,
                a_declaration_says_more_and_takes_nothing_back,
                a_declaration_needs_an_archive_and_the_lease,
                declaring_a_contract_turns_no_page_that_was_begun_before_complete,
                a_contract_that_nobody_named_is_in_scope_where_everything_is,
                classic_events_are_missed_unless_the_contract_is_declared_to_have_none,
                a_contract_that_was_found_to_be_an_assets_misses_classic_events_whatever_is_declared,
                what_dropped_its_classic_events_is_complete_for_declared_contracts_alone,
            ];
            pages: [
                inv_5_pages_equal_the_unpaged_read_for_every_size_in_both_directions,
                i1_a_ledger_of_twenty_five_events_is_paged_without_loss_in_any_size,
                i1_following_the_tail_neither_misses_nor_repeats,
                inv_1_a_window_over_a_gap_or_past_the_end_or_inverted_is_never_complete,
                i8_rows_and_coverage_are_of_one_snapshot,
                inv_5_a_resolved_incident_turns_no_page_that_was_begun_before_complete,
                inv_5_a_richer_source_turns_no_page_that_was_begun_before_complete,
                a_window_without_a_beginning_starts_with_what_is_covered,
                a_page_of_a_later_state_than_the_archives_own_is_refused,
                the_event_at_a_position_is_found_or_its_absence_is_proven_or_not,
                the_key_for_cursors_is_the_archives_own_and_stays,
            ];
            payloads: [
                a_tokens_events_belong_to_their_parties_and_carry_their_payloads,
                a_checkpoint_is_its_owners_alone_at_every_ledger,
                two_events_that_one_argument_could_be_of_have_no_payload,
                a_payload_is_pending_until_somebody_brings_the_envelope,
                inv_5_an_envelope_tells_payloads_from_its_own_feed_position_on,
                inv_7_the_holder_of_an_old_fence_adds_no_envelope,
            ];
            upgrades: [
                a_richer_source_replaces_the_ledger_row_and_brings_its_events,
                a_poorer_source_changes_nothing,
                a_poorer_source_does_not_open_a_contract_whose_classic_events_it_lacks,
                a_richer_source_of_one_contract_does_not_vouch_for_another,
                unverified_events_take_the_class_of_the_checked_ledger,
                an_unverified_rewritten_form_becomes_the_form_beside_the_original,
                an_unverified_event_that_the_checked_ledger_lacks_is_an_incident,
                a_classic_event_that_a_ledger_without_any_lacks_stays_unverified,
                checked_events_are_only_confirmed_by_unverified_ones,
                what_nobody_checked_is_never_vouched_for_by_another_contracts_ledger,
                another_digest_of_an_equally_rich_ledger_is_an_incident,
                without_classic_events_by_policy_no_source_is_too_poor,
            ];
            wallets: [
                every_wallet_finds_its_openings_at_every_ledger_in_every_version_and_across_each_upgrade,
            ];
        }
    };
    ($factory:expr; $($module:ident: [$($case:ident,)*];)*) => {
        $($(
            #[test]
            fn $case() {
                $crate::store::suite::$module::$case(&mut *$factory());
            }
        )*)*
    };
}

pub(crate) use on_every_case;
