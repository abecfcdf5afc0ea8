"""A/B: live requests answered by one method, some of them decoded by a second one too, and what the pairs say.

    route                  a request for `auto`    -> the method that answers
    company · shadow       an answered order       -> a second answer, when that is in nobody's way
    judge                  two unlike answers      -> a tie or a real difference
    pairs · stats          two answers             -> figures with their intervals
    rule · campaign        pairs of two methods    -> when there are enough
    ledger · campaigns     a campaign on disk, and the one that is going on
    live · routes          all of it in a server, and its HTTP
"""
